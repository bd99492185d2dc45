import type { DerivedBody } from '../api/publish.ts'
import type { Claim } from '../api/runs.ts'
import type { Client } from '../client/client.ts'
import { ProblemError } from '../client/problem-error.ts'
import { defined } from '../core/defined.ts'
import { BatonError, type ErrorCode } from '../core/errors.ts'
import type { Json } from '../core/json.ts'
import type { Outcome } from '../core/run/run.ts'
import { redactionOf } from '../core/task-error/redact.ts'
import type { TaskDefinition } from '../define/define-task.ts'
import type { RunContext } from '../define/task-context.ts'
import type { Clock, Log } from '../ports/machine.ts'
import { parsedInput } from '../runtime/run/handler-input.ts'
import { outcomeOfResult, outcomeOfThrown, refuseUnstorable } from '../runtime/run/outcome.ts'
import { createRunLog } from '../runtime/run/run-log.ts'
import { Fatal, Next } from '../signals.ts'
import type { HeldRuns } from './held-runs.ts'

export type ServeTools = {
  readonly client: Client
  readonly held: HeldRuns
  readonly clock: Clock
  readonly log: Log
  /** Aborts when the worker must end: its runs are released. */
  readonly aborting: AbortSignal
}

/** Runs a claimed task to its end, under heartbeats, and reports the end. */
export async function serveClaim(claim: Claim, definition: TaskDefinition, tools: ServeTools): Promise<void> {
  const { client, held, clock, log, aborting } = tools
  const { task, run } = claim
  const handler = new AbortController()
  const { heartbeatMs, leaseMs, timeoutMs } = task.options
  const abort = (reason: string) => handler.abort(new Error(`the run is over: ${reason}`))
  held.hold({ taskId: task.id, runId: run.id, fence: run.fence, heartbeatMs, leaseMs, abort })
  const over = new AbortController()
  const stopped: Promise<Outcome | undefined> = new Promise(resolve => {
    const stop = (reason: string, outcome?: Outcome) => {
      resolve(outcome)
      abort(reason)
    }
    handler.signal.addEventListener('abort', () => resolve(undefined), { once: true })
    const release = () => stop('stopping', { outcome: 'release' })
    if (aborting.aborted) release()
    aborting.addEventListener('abort', release, { once: true, signal: over.signal })
    if (timeoutMs !== undefined) {
      const error = { name: 'TimedOut', message: `the run took longer than ${timeoutMs} ms` }
      void clock.sleep(timeoutMs, over.signal).then(() => {
        if (!over.signal.aborted) stop('timed-out', { outcome: 'fail', error })
      })
    }
  })
  const runLog = createRunLog({ log, clock }, { taskId: task.id, type: task.type, runId: run.id })
  const { debug, info, warn, error } = runLog
  const context = contextOf(claim, client, held, handler.signal, over.signal)
  const handled = handle(claim, definition, client, { ...context, log: { debug, info, warn, error } }, runLog)
  const outcome = await Promise.race([handled, stopped])
  over.abort()
  if (outcome) await held.finish(run.id, runLog.outcomeWithLog(outcome))
  else log.info('run stopped', { taskId: task.id, runId: run.id })
}

async function handle(
  { task }: Claim,
  definition: TaskDefinition,
  client: Client,
  context: RunContext,
  runLog: ReturnType<typeof createRunLog>,
): Promise<Outcome> {
  try {
    const content = await contentOf(task, client)
    runLog.hide(redactionOf(definition.redact ?? [], [content.input, task.params, content.previous]))
    const input = await parsedInput(content.input, definition)
    for (let repetition = 0; ; repetition++) {
      const outcome = await outcomeOfCall(() =>
        definition.run(input, { ...context, ...defined({ previous: content.previous }) }),
      )
      const isRepeatable = outcome.outcome === 'fail' && !outcome.fatal && outcome.retryInMs === undefined
      const isLast = repetition >= task.options.retry.localRetries
      if (!isRepeatable || isLast || context.signal.aborted) return outcome
    }
  } catch (thrown) {
    return outcomeOfThrown(thrown)
  }
}

async function outcomeOfCall(call: () => unknown): Promise<Outcome> {
  try {
    return outcomeOfResult(await call())
  } catch (thrown) {
    return outcomeOfThrown(thrown)
  }
}

/** The input and what was handed on. A long list comes in pages, and a long input is that of the flow's parameters. */
async function contentOf(
  task: Claim['task'],
  client: Client,
): Promise<{ readonly input: Json | undefined; readonly previous: Json | undefined }> {
  const input = task.inputIsParams ? (task.params as Json) : task.input
  if (!task.previousPaged) return { input, previous: task.previous }
  const previous: Json[] = []
  for await (const one of client.allPrevious(task.id)) previous.push(one)
  return { input: Array.isArray(input) ? [...input, ...previous] : input, previous }
}

function contextOf(
  { task, run }: Claim,
  client: Client,
  held: HeldRuns,
  signal: AbortSignal,
  over: AbortSignal,
): Omit<RunContext, 'log'> {
  const { stage, step, direction, params, userId } = task
  return {
    taskId: task.id,
    runId: run.id,
    type: task.type,
    key: task.key,
    attempt: task.attempts.used,
    fence: run.fence,
    idempotencyKey: run.idempotencyKey,
    ...defined({ stage, step, direction, params }),
    signal,
    progress: value => {
      refuseUnstorable(value)
      held.report(run.id, value)
    },
    next: (name, options) => {
      if (step !== undefined) throw new Fatal(`${task.id} is a flow: its steps have no stages to go on with`)
      return new Next(name, options)
    },
    publish: async publication => {
      if (signal.aborted || over.aborted) {
        throw new BatonError('refused', `a task of '${publication.type}' is not published: the run is over`)
      }
      return publishChild(client, { ...defined({ userId }), ...publication })
    },
  }
}

const CODES: Partial<Record<string, ErrorCode>> = {
  invalid: 'invalid',
  'unknown-type': 'unknown-type',
  'too-large': 'too-large',
  conflict: 'refused',
}

async function publishChild(client: Client, body: DerivedBody): Promise<{ id: string; created: boolean }> {
  try {
    const { id, created } = await client.publish(body)
    return { id, created }
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const { errors: problems = [] } = error.problem
    throw new BatonError(CODES[error.code] ?? 'unavailable', error.message, { cause: error, problems })
  }
}
