/**
 * One run from its claim to its end: `runTask` claims a task, keeps the lease by heartbeats, gives the handler its
 * input and context, and writes the outcome. Runs over HTTP begin and end by requests instead (`http-runs.ts`). The
 * fence decides which writes of a run are accepted.
 */
import { roomForResult } from '../../core/flow/flow.ts'
import type { Claimer } from '../../core/run/claim.ts'
import type { Outcome } from '../../core/run/finish.ts'
import { runId, type Task, type TaskError } from '../../core/task/task.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { TaskContext } from '../../define/task-context.ts'
import { type Claimed, claimTask, type NotClaimed } from '../claim/claim.ts'
import { logRunStopped, type StopReason } from '../kernel/log-run-ends.ts'
import { inRunSpan } from '../kernel/spans.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'
import type { StartPolicy } from '../limits/start-policy.ts'
import { finishRun } from './finish-run.ts'
import { type Hold, holdRun } from './hold-run.ts'
import { handlerInput } from './input-of.ts'
import { outcomeOfError, outcomeOfResult } from './outcome.ts'
import { handlerContext } from './run-context.ts'
import { createRunLog, type RunLog } from './run-log.ts'

/** What became of one dispatch. */
export type RunTaskResult = NotRun | Ran

type NotRun = { readonly ran: false; readonly why: NotClaimed['refused'] }

/** `stopped`: the run was no longer ours at its end. */
export type Ran = {
  readonly ran: true
  readonly outcome: Outcome['outcome'] | 'stopped'
  readonly fence: number
  /** Why it failed, as it is stored. */
  readonly error?: TaskError
}

export type RunTools = {
  readonly definition: TaskDefinition
  /** How it begins where rate limits have a say. @default in its turn, for which it is sent again if that is far */
  readonly startPolicy?: StartPolicy
  /** Stops the run before its process must end; it is then released. */
  readonly stopping?: AbortSignal
  /** Awaited between the claim and the handler, under the run's heartbeats. */
  readonly onClaimed?: (claimed: Claimed) => Promise<void> | void
  /** Ends the run as timed out: it had all the time its process can give, and giving it back would only repeat that. */
  readonly outOfTime?: AbortSignal
  /** Added to the handler's context. */
  readonly context?: Partial<Pick<TaskContext, 'webhook'>>
}

/** Claims the task that was seen and runs it to its end: the whole life of one run. */
export async function runTask(
  system: System,
  seen: Task,
  claimer: Claimer,
  tools: RunTools,
): Promise<RunTaskResult> {
  const claimed = await claimTask(system, seen, claimer, tools.startPolicy)
  return 'refused' in claimed ? { ran: false, why: claimed.refused } : runClaimed(system, claimed, tools)
}

/** Runs a claimed task to its end, within a span of its trace. */
export function runClaimed(system: System, claimed: Claimed, tools: RunTools): Promise<Ran> {
  return inRunSpan(claimed, traceparent =>
    holdAndRun(system, { ...claimed, ...(traceparent !== undefined && { traceparent }) }, tools),
  )
}

async function holdAndRun(system: System, claimed: Claimed, tools: RunTools): Promise<Ran> {
  const hold = holdRun(system, claimed)
  const unwatch = [stopOn(hold, tools.stopping, 'stopping'), stopOn(hold, tools.outOfTime, 'out-of-time')]
  try {
    const told = createRunLog(system, {
      ...logFields(claimed.task),
      runId: runId(claimed.task.born, claimed.run.fence),
    })
    const outcome = told.outcomeWithLog(await outcomeOf(system, claimed, hold, told, tools))
    const { fence, startedAt } = claimed.run
    system.metrics.add('RunTime', system.clock.now() - startedAt, claimed.task.type)
    const isGone = hasLostItsRun(hold)
    if (isGone) logRunStopped(system, hold.task(), fence, hold.reason())
    const accepted = !isGone && (await finishRun(system, hold, fence, outcome))
    const error = outcome.outcome === 'fail' && { error: outcome.error }
    return { ran: true, outcome: accepted ? outcome.outcome : 'stopped', fence, ...error }
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

/** Stops that leave the run its own to end. */
const OWN_ENDINGS: ReadonlySet<StopReason> = new Set(['stopping', 'out-of-time', 'timed-out', 'deadline'])

/** A run that a heartbeat found gone has nothing left to write. */
function hasLostItsRun(hold: Hold): boolean {
  const reason = hold.reason()
  return reason !== undefined && !OWN_ENDINGS.has(reason)
}

/** The handler's word, or the hold's when it was told to stop and the handler does not answer. */
async function outcomeOf(
  system: System,
  claimed: Claimed,
  hold: Hold,
  told: RunLog,
  tools: RunTools,
): Promise<Outcome> {
  const handler = handle(system, claimed, hold, told, tools)
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
  told: RunLog,
  { definition, context, onClaimed }: RunTools,
): Promise<unknown> {
  await onClaimed?.(claimed)
  const { input, ...content } = await handlerInput(system, claimed.task, definition, told)
  const { localRetries } = claimed.task.options.retry
  for (let repetition = 0; ; repetition++) {
    // Told to stop before the handler began: the run may be somebody else's already.
    if (hold.signal.aborted) throw hold.signal.reason
    try {
      return await definition.run(input, {
        ...handlerContext(system, claimed, hold, told),
        ...content,
        ...context,
      })
    } catch (error) {
      const outcome = outcomeOfError(error, hold.reason(), claimed.task)
      const repeatable = outcome.outcome === 'fail' && !outcome.fatal && outcome.retryInMs === undefined
      if (!repeatable || repetition >= localRetries || hold.signal.aborted) throw error
      told.info('failed, repeating in the same run', { repetition, error: outcome.error })
    }
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
