import * as z from 'zod'
import { STATUS_REASONS } from '../../../shared/core/status/status.ts'
import { json, operations, optional, shownTime } from './scalars.ts'
import { error } from './task-error.ts'

export const whole = z.int().min(0)
const statusName = z.enum(['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed', 'cancelled'])

const endedState = ['succeeded', 'failed', 'lost', 'released', 'cancelled'] as const
export const gone = z.enum(['ended', 'lost', 'cancelled', 'removed', 'excluded', 'timed-out'])

const runEnd = z
  .object({
    state: z.enum(endedState),
    endedAt: shownTime,
    result: optional(json),
    error: optional(error),
    stage: optional(z.string()),
  })
  .meta({ description: 'How a run ended, without stack and without a result that is kept apart' })

const fieldProblem = z.object({ path: z.string(), message: z.string() })

export const problemAnswer = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    errors: optional(z.array(fieldProblem)),
    reason: optional(gone),
    holder: optional(z.string()),
    run: optional(runEnd),
    retryAfterMs: optional(whole),
    requestId: optional(z.string()),
  })
  .meta({ id: 'Problem', description: 'A problem document (RFC 9457)' })

const retry = {
  maxRetries: whole,
  backoff: z.enum(['exponential', 'fixed', 'fibonacci', 'ladder']),
  delayMs: whole,
  maxDelayMs: whole,
  delaysMs: optional(z.array(whole)),
  jitter: z.number(),
  scope: z.enum(['task', 'worker']),
  localRetries: whole,
}

export const options = z
  .object({
    concurrency: whole,
    workerIds: z.array(z.string()),
    minWorkerVersion: optional(z.string()),
    heartbeatMs: whole,
    leaseMs: whole,
    timeoutMs: optional(whole),
    deadlineMs: optional(whole),
    retentionMs: whole,
    retry: z.object(retry),
  })
  .meta({ id: 'Options', description: 'Options in force, defaults included' })

const run = z
  .object({
    id: z.string(),
    workerId: z.string(),
    state: z.enum(['running', ...endedState]),
    fence: whole,
    startedAt: shownTime,
    leaseUntil: optional(shownTime),
    endedAt: optional(shownTime),
    result: optional(json),
    error: optional(error),
    progress: optional(json),
    log: optional(z.string().meta({ description: 'Of a failed run: the last that its handler logged' })),
    stage: optional(z.string()),
  })
  .meta({ id: 'Run' })

const historyEntry = z.object({
  traceId: optional(z.string()),
  stage: optional(z.string()),
  startedAt: shownTime,
  endedAt: shownTime,
  costMs: whole,
  outcome: z.enum(endedState),
  error: optional(error),
})

const action = {
  startedAt: optional(shownTime),
  endedAt: optional(shownTime),
  attempts: whole,
  error: optional(error),
}

const step = z
  .object({
    name: z.string(),
    state: z.enum([
      'pending',
      'running',
      'succeeded',
      'failed',
      'undoing',
      'undone',
      'undo-failed',
      'skipped',
    ]),
    ...action,
    result: optional(json),
    undo: optional(z.object(action)),
  })
  .meta({ id: 'Step' })

export const task = z
  .object({
    id: z.string(),
    type: z.string(),
    key: z.string(),
    status: statusName,
    statusReason: optional(z.enum(STATUS_REASONS)),
    dueAt: shownTime,
    priority: z.int(),
    userId: optional(z.string()),
    fairnessKey: optional(z.string()),
    tags: optional(z.record(z.string(), z.string())),
    input: optional(json),
    result: optional(json),
    error: optional(error),
    concurrency: whole,
    stage: optional(z.string()),
    runs: z.array(run),
    steps: optional(z.array(step)),
    cursor: optional(whole),
    params: optional(z.record(z.string(), json)),
    needsAttention: optional(z.literal(true)),
    callbackProblems: optional(z.array(fieldProblem)),
    step: optional(z.string()),
    stepType: optional(z.string()),
    direction: optional(z.enum(['do', 'undo'])),
    previous: optional(json),
    previousPaged: optional(z.literal(true)),
    inputIsParams: optional(z.literal(true)),
    canvasId: optional(z.string()),
    parentId: optional(z.string()),
    attempts: z.object({ used: whole, left: whole }),
    history: z.array(historyEntry),
    traceId: optional(z.string()),
    createdAt: shownTime,
    startedAt: optional(shownTime),
    updatedAt: shownTime,
    finishedAt: optional(shownTime),
    expiresAt: optional(shownTime),
    operations: optional(operations),
    options,
    omitted: optional(z.array(z.enum(['runs.result', 'params', 'steps.result', 'previous']))),
  })
  .meta({ id: 'Task' })

export const taskAnswer = z.object({ task })

export const publishAnswer = z.object({ id: z.string(), created: z.boolean(), task })

export const publishManyAnswer = z.object({
  results: z.array(
    z.object({
      status: z.int(),
      id: optional(z.string()),
      created: optional(z.boolean()),
      task: optional(task),
      problem: optional(problemAnswer),
    }),
  ),
})

export const previousPage = z.object({ items: z.array(json), nextCursor: optional(z.string()) })

export const taskPage = z.object({ items: z.array(task), nextCursor: optional(z.string()) })

/** As they were given: nothing of them need be there. */
const defaults = z.object({
  priority: optional(z.int()),
  concurrency: optional(whole),
  workerIds: optional(z.array(z.string())),
  minWorkerVersion: optional(z.string()),
  heartbeatMs: optional(whole),
  leaseMs: optional(whole),
  timeoutMs: optional(whole),
  deadlineMs: optional(whole),
  retentionMs: optional(whole),
  retry: optional(
    z.object({
      maxRetries: optional(whole),
      backoff: optional(retry.backoff),
      delayMs: optional(whole),
      maxDelayMs: optional(whole),
      delaysMs: retry.delaysMs,
      jitter: optional(z.number()),
      scope: optional(retry.scope),
      localRetries: optional(whole),
    }),
  ),
})

const stepAction = z.object({
  type: z.string(),
  input: optional(json),
  timeoutMs: optional(whole),
  deadlineMs: optional(whole),
  retry: defaults.shape.retry,
})

export const typeAnswer = z
  .object({
    type: z.string(),
    kind: z.enum(['handler', 'http', 'webhook', 'flow']),
    defaults,
    ordering: z.enum(['arrival', 'priority', 'aged']),
    limits: optional(
      z.object({
        rate: optional(z.object({ limit: whole, perMs: whole, key: optional(z.string()) })),
        concurrency: optional(z.object({ max: whole, key: optional(z.string()) })),
      }),
    ),
    shards: whole,
    events: z.boolean(),
    webhook: optional(
      z.object({
        url: optional(z.string()),
        timeoutMs: optional(whole),
        secretName: optional(z.string()),
        allowPrivate: optional(z.boolean()),
      }),
    ),
    steps: optional(z.array(z.object({ name: z.string(), do: stepAction, undo: optional(stepAction) }))),
    onCancel: optional(z.enum(['undo', 'leave'])),
    paused: z.boolean(),
    handlerSince: optional(shownTime),
    createdAt: shownTime,
    updatedAt: shownTime,
    operations: optional(operations),
    warnings: optional(z.array(z.string())),
  })
  .meta({ id: 'Type' })

export const pausedAnswer = z.object({ type: z.string(), paused: z.boolean() })

export const typePage = z.object({ items: z.array(typeAnswer), nextCursor: optional(z.string()) })

const workerAnswer = z
  .object({
    id: z.string(),
    kind: z.enum(['standalone', 'http', 'lambda']),
    version: optional(z.string()),
    types: z.array(z.string()),
    running: whole,
    lastSeen: optional(shownTime),
  })
  .meta({ id: 'Worker' })

export const workerPage = z.object({ items: z.array(workerAnswer), nextCursor: optional(z.string()) })

export const countsAnswer = z.object(
  Object.fromEntries(statusName.options.map(name => [name, whole])) as Record<
    (typeof statusName.options)[number],
    typeof whole
  >,
)

export const purgeAnswer = z.object({ type: z.string(), status: z.array(statusName), before: shownTime })
