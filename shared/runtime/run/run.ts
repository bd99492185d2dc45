/**
 * One run, from its claim to its end. `runClaimed` renews the lease of a claimed task by heartbeats, calls the handler with
 * its input and context, and writes the outcome. The fence decides which writes of a run are accepted.
 *
 * Read in this order: `hold-run.ts` (heartbeats, lease, timeouts), `handler-input.ts` and `handler-context.ts` (what the
 * handler gets), `run-log.ts` (its log), `outcome.ts` (what its return value or error means), `finish-run.ts` (the write
 * of the end). Runs of HTTP workers are kept and ended by requests instead: `http-runs.ts`.
 */

import { roomForResult } from '../../core/flow/flow.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task/error.ts'
import { runId } from '../../core/task/task.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { RunContext } from '../../define/task-context.ts'
import type { Claimed } from '../claim/claim.ts'
import { logRunStopped, type StopReason } from '../kernel/log-run-ends.ts'
import { inRunSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import { finishRun } from './finish-run.ts'
import { handlerContext } from './handler-context.ts'
import { handlerInput } from './handler-input.ts'
import { type Hold, holdRun } from './hold-run.ts'
import { outcomeOfError, outcomeOfResult } from './outcome.ts'
import { createRunLog, type RunLog } from './run-log.ts'

/** How a run ended. `stopped`: another process ended it, or its lease ended before its worker could write the end. */
export type Ran = {
  readonly outcome: Outcome['outcome'] | 'stopped'
  readonly fence: number
  /** Why it failed, as it is stored. */
  readonly error?: TaskError
}

export type RunTools = {
  readonly definition: TaskDefinition
  /** Stops the run before its process ends. The run is then released. */
  readonly aborting?: AbortSignal
  /** Awaited before the handler is called, under the run's heartbeats. */
  readonly beforeRun?: (claimed: Claimed) => Promise<void>
  /** Ends the run as timed out. It has used all the time of its process, so a released task would time out again. */
  readonly outOfTime?: AbortSignal
  /** Added to the handler's context. */
  readonly context?: Partial<Pick<RunContext, 'webhook'>>
}

/** Runs a claimed task to its end, within a span of its trace. */
export function runClaimed(system: System, claimed: Claimed, tools: RunTools): Promise<Ran> {
  return inRunSpan(claimed, traceparent =>
    holdAndRun(system, { ...claimed, ...(traceparent !== undefined && { traceparent }) }, tools),
  )
}

async function holdAndRun(system: System, claimed: Claimed, tools: RunTools): Promise<Ran> {
  const hold = holdRun(system, claimed)
  const unwatch = [stopOn(hold, tools.aborting, 'stopping'), stopOn(hold, tools.outOfTime, 'out-of-time')]
  try {
    const runLog = createRunLog(system, {
      ...logFields(claimed.task),
      runId: runId(claimed.task.born, claimed.run.fence),
    })
    const outcome = runLog.outcomeWithLog(await outcomeOf(system, claimed, hold, runLog, tools))
    const { fence, startedAt } = claimed.run
    system.metrics.add('RunTime', system.clock.now() - startedAt, claimed.task.type)
    const isGone = hasLostItsRun(hold)
    if (isGone) logRunStopped(system, hold.task(), fence, hold.reason())
    const accepted = !isGone && (await finishRun(system, hold, fence, outcome))
    const error = outcome.outcome === 'fail' && { error: outcome.error }
    return { outcome: accepted ? outcome.outcome : 'stopped', fence, ...error }
  } finally {
    for (const end of unwatch) end()
    await hold.close()
  }
}

function stopOn(hold: Hold, signal: AbortSignal | undefined, reason: 'stopping' | 'out-of-time'): () => void {
  const stop = () => hold.stop(reason)
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true })
  return () => signal?.removeEventListener('abort', stop)
}

/** The stop reasons after which the worker itself still ends the run. */
const OWN_ENDINGS: ReadonlySet<StopReason> = new Set(['stopping', 'out-of-time', 'timed-out', 'deadline'])

/** Whether a heartbeat found the run over, or its lease ended while the store did not answer. Then its worker writes no end. */
function hasLostItsRun(hold: Hold): boolean {
  const reason = hold.reason()
  return reason !== undefined && !OWN_ENDINGS.has(reason)
}

/** The outcome of the handler. When the hold stops the run, its reason decides, and the handler is not awaited. */
async function outcomeOf(
  system: System,
  claimed: Claimed,
  hold: Hold,
  runLog: RunLog,
  tools: RunTools,
): Promise<Outcome> {
  const handler = handle(system, claimed, hold, runLog, tools)
  handler.catch(() => undefined)
  try {
    const result = await Promise.race([handler, aborted(hold.signal)])
    return outcomeOfResult(result, roomForResult(claimed.task), `result of ${claimed.task.type}`)
  } catch (error) {
    return outcomeOfError(error, hold.reason(), claimed.task)
  }
}

async function handle(
  system: System,
  claimed: Claimed,
  hold: Hold,
  runLog: RunLog,
  { definition, context, beforeRun }: RunTools,
): Promise<unknown> {
  await beforeRun?.(claimed)
  const { input, ...content } = await handlerInput(system, claimed.task, definition, runLog)
  const { localRetries } = claimed.task.options.retry
  for (let repetition = 0; ; repetition++) {
    // The run was stopped before the handler began. Another worker may run the task already.
    if (hold.signal.aborted) throw hold.signal.reason
    try {
      return await definition.run(input, {
        ...handlerContext(system, claimed, hold, runLog),
        ...content,
        ...context,
      })
    } catch (error) {
      const outcome = outcomeOfError(error, hold.reason(), claimed.task)
      const repeatable = outcome.outcome === 'fail' && !outcome.fatal && outcome.retryInMs === undefined
      if (!repeatable || repetition >= localRetries || hold.signal.aborted) throw error
      runLog.info('the handler failed and is called again in the same run', {
        repetition,
        error: outcome.error,
      })
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
