import type {
  ApiHistoryEntry,
  ApiOperation,
  ApiOptions,
  ApiRun,
  ApiTask,
  ApiType,
} from '../../shared/client/api-types.ts'
import type { Claim, HeartbeatAnswer } from '../../shared/client/run-types.ts'
import type { ApiWorker } from '../../shared/client/worker-types.ts'
import { needsAttention } from '../../shared/core/flow/describe-steps.ts'
import { scaleWarnings } from '../../shared/core/limits/scale-warnings.ts'
import type { Options } from '../../shared/core/options/options.ts'
import { beatIntervalMs } from '../../shared/core/run/heartbeat.ts'
import { CANVAS_TYPE } from '../../shared/core/task/canvas-state.ts'
import { idempotencyKey } from '../../shared/core/task/piece.ts'
import { type EndedRun, runId, type Task, taskId } from '../../shared/core/task/task.ts'
import {
  orderingOf,
  shardsOf,
  type TaskType,
  type WebhookSettings,
} from '../../shared/core/types/task-type.ts'
import { withoutUser } from '../../shared/core/types/webhook-url.ts'
import { traceIdOf } from '../../shared/runtime/kernel/traceparent.ts'
import type { DescribedRun, TaskDescription } from '../../shared/runtime/read/describe-task.ts'
import type { HeldTask } from '../../shared/runtime/run/held-task.ts'
import type { PresentWorker } from '../../shared/runtime/worker/list-workers.ts'
import { iso } from './iso.ts'
import { presentFlow } from './present-flow.ts'

/** A described task as the API shows it. */
export function presentTask(description: TaskDescription): ApiTask {
  const { task, status, statusReason, attempts, runs, history, input, result, error } = description
  const { id, type, key, priority, userId, fairnessKey, tags, options } = task
  const traceId = traceIdOf(task.traceparent)
  return {
    id,
    type,
    key,
    status,
    ...(statusReason && { statusReason }),
    dueAt: iso(task.dueAt),
    priority,
    ...(userId !== undefined && { userId }),
    ...(fairnessKey !== undefined && { fairnessKey }),
    ...(tags && { tags }),
    ...(input !== undefined && { input }),
    ...(result !== undefined && { result }),
    ...(error && { error }),
    concurrency: options.concurrency,
    ...(task.stage !== undefined && { stage: task.stage }),
    runs: runs.map(run => presentRun(task, run)),
    attempts,
    ...presentFlow(description),
    ...presentHandedOn(description),
    ...presentTrouble(task),
    ...(task.member && { canvasId: taskId(CANVAS_TYPE, task.member.canvasId) }),
    ...(task.parentId !== undefined && { parentId: task.parentId }),
    history: history.map(run => presentHistory(run, traceId)),
    ...(traceId !== undefined && { traceId }),
    ...presentTimes(task),
    ...presentOperations(task),
    options: presentOptions(options),
    ...presentOmitted(description),
  }
}

function presentTrouble(task: Task): Pick<ApiTask, 'needsAttention' | 'callbackProblems'> {
  const { unpublished } = task
  return {
    ...(needsAttention(task) && { needsAttention: true as const }),
    ...(unpublished && { callbackProblems: unpublished.problems }),
  }
}

function presentHandedOn({
  previous,
  isPreviousPaged,
}: TaskDescription): Pick<ApiTask, 'previous' | 'previousPaged'> {
  return {
    ...(previous !== undefined && { previous }),
    ...(isPreviousPaged && { previousPaged: true as const }),
  }
}

function presentOmitted({ isCut }: TaskDescription): Pick<ApiTask, 'omitted'> {
  return isCut ? { omitted: ['runs.result'] } : {}
}

/** The changes by people of a task, a type or a schedule; left out while there is none. */
export function presentOperations({ operations }: Pick<Task, 'operations'>): {
  readonly operations?: readonly ApiOperation[]
} {
  return operations ? { operations: operations.map(({ at, ...rest }) => ({ at: iso(at), ...rest })) } : {}
}

function presentTimes({ createdAt, startedAt, updatedAt, finishedAt, expiresAt }: Task) {
  return {
    createdAt: iso(createdAt),
    ...(startedAt !== undefined && { startedAt: iso(startedAt) }),
    updatedAt: iso(updatedAt),
    ...(finishedAt !== undefined && { finishedAt: iso(finishedAt) }),
    ...(expiresAt !== undefined && { expiresAt: iso(expiresAt) }),
  }
}

function presentRun({ born }: Task, run: DescribedRun): ApiRun {
  const { workerId, state, fence, startedAt, leaseUntil, endedAt, result, error, progress, log, piece } = run
  return {
    id: runId(born, fence),
    workerId,
    state,
    fence,
    startedAt: iso(startedAt),
    ...(leaseUntil !== undefined && { leaseUntil: iso(leaseUntil) }),
    ...(endedAt !== undefined && { endedAt: iso(endedAt) }),
    ...(result !== undefined && { result }),
    ...(error && { error }),
    ...(progress !== undefined && { progress }),
    ...(log !== undefined && { log }),
    ...(piece !== undefined && { stage: piece }),
  }
}

function presentHistory(run: EndedRun, traceId: string | undefined): ApiHistoryEntry {
  const { startedAt, endedAt, state, error, piece } = run
  return {
    ...(traceId !== undefined && { traceId }),
    ...(piece !== undefined && { stage: piece }),
    startedAt: iso(startedAt),
    endedAt: iso(endedAt),
    costMs: endedAt - startedAt,
    outcome: state,
    ...(error && { error }),
  }
}

/**
 * What a worker is told when it shows a sign of life. The interval is the one it must keep, which a longer lease in the
 * options stretches only for runs that have that lease.
 */
export function presentBeat(task: Task, fence: number, leaseUntil: number): HeartbeatAnswer {
  const heartbeatMs = beatIntervalMs(task, fence)
  return { leaseUntil: iso(leaseUntil), options: { ...presentOptions(task.options), heartbeatMs } }
}

function presentOptions(options: Options): ApiOptions {
  return options
}

/** A task type as the API shows it, what it leaves to the system filled in. */
export function presentType(type: TaskType): ApiType {
  const { kind, defaults, limits, webhook, steps, onCancel } = type.configuration
  const warnings = scaleWarnings(type.configuration)
  return {
    type: type.type,
    kind,
    defaults,
    ordering: orderingOf(type),
    ...(limits && { limits }),
    shards: shardsOf(type.configuration),
    events: type.configuration.events ?? false,
    ...(webhook && { webhook: shownWebhook(webhook) }),
    ...(steps && { steps }),
    ...(kind === 'flow' && { onCancel: onCancel ?? 'undo' }),
    paused: type.paused,
    ...(type.handlerSince !== undefined && { handlerSince: iso(type.handlerSince) }),
    createdAt: iso(type.createdAt),
    updatedAt: iso(type.updatedAt),
    ...presentOperations(type),
    ...(warnings.length > 0 && { warnings }),
  }
}

function shownWebhook(webhook: WebhookSettings): WebhookSettings {
  return webhook.url === undefined ? webhook : { ...webhook, url: withoutUser(webhook.url) }
}

/** A claim: the task, running, with what it is to work on, and what its worker needs to speak for the run; not who changed it. */
export function presentClaim(
  { task, run, input, params, previous, isPreviousPaged, isInputParams }: HeldTask,
  { input: _stored, ...description }: TaskDescription,
): Claim {
  const { operations: _operations, ...shown } = presentTask({
    ...description,
    ...(input !== undefined && { input }),
    ...(params && { params }),
    ...(previous !== undefined && { previous }),
    ...(isPreviousPaged && { isPreviousPaged }),
  })
  return {
    task: {
      ...shown,
      ...(isInputParams && { inputIsParams: true as const }),
    },
    run: {
      id: runId(task.born, run.fence),
      fence: run.fence,
      leaseUntil: iso(run.leaseUntil),
      idempotencyKey: idempotencyKey(task),
    },
  }
}

export function presentWorker({ lastSeen, ...worker }: PresentWorker): ApiWorker {
  return { ...worker, ...(lastSeen !== undefined && { lastSeen: iso(lastSeen) }) }
}
