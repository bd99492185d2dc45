/**
 * One run, from its claim to its end, the same for functions, for workers of queues and for workers over HTTP:
 *
 * 1. `hold` renews the lease by heartbeats, and stops the handler when the run is lost, out of time, or must make room.
 * 2. `handle` calls the handler, or takes the reason for which the run was stopped. Both give an outcome.
 * 3. `report` writes the outcome. The fence decides whether the write is accepted.
 * 4. The hooks of the worker learn how the run ended.
 *
 * A keeper (`ports/runs.ts`) does what reaches the world. Read next: `keep-in-table.ts`, which keeps a run in the table itself, with
 * `finish-run.ts`, the write of the end. Workers over HTTP keep their runs by requests (`worker/http/keep-over-http.ts`), which
 * `http-runs.ts` serves. `handler/handler.ts` is the call of the handler.
 */

import type { Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task/error.ts'
import type { TaskDefinition } from '../../define/define-task.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import type { KeptRun, RunLost, RunRules } from '../../ports/runs.ts'
import { handlerContext } from '../handler/context.ts'
import { callHandler } from '../handler/handler.ts'
import { createRunLog } from '../handler/run-log.ts'
import { traceIdOf } from '../kernel/traceparent.ts'

/** How a run ended. `stopped`: another process ended it, or its lease ended before its worker could write the end. */
export type Ran = {
  readonly outcome: Outcome['outcome'] | 'stopped'
  /** Why it failed, as it is stored. */
  readonly error?: TaskError
}

export type RunTools<Claim = unknown> = {
  readonly definition: TaskDefinition
  /** Stops the run before its process ends. The run is then released. */
  readonly aborting?: AbortSignal
  /** Ends the run as timed out. It has used all the time of its process, so a released task would time out again. */
  readonly outOfTime?: AbortSignal
  readonly hooks?: RunHooks<Claim>
}

/** What a worker does around its runs. No hook throws. */
export type RunHooks<Claim> = {
  /** Awaited before the handler is called, under the run's heartbeats. */
  beforeRun(run: Claim): Promise<void>
  afterRun(run: Claim & Ran): Promise<void>
  onError(failure: { readonly error: unknown } & Partial<Claim>): Promise<void>
}

export type RunMachine = { readonly clock: Clock; readonly log: Log }

/**
 * Runs a claimed task to its end, and tells the hooks.
 *
 * @throws the error of an outage that outlasted the lease. The end is not written then, and the run ends with its lease.
 */
export async function runClaimed<Claim>(
  machine: RunMachine,
  kept: KeptRun<Claim>,
  tools: RunTools<Claim>,
): Promise<Ran> {
  const ran = await runHeld(machine, kept, tools)
  const { outcome, error } = ran
  if (outcome === 'fail') await tools.hooks?.onError({ ...kept.claim, error })
  await tools.hooks?.afterRun({ ...kept.claim, ...ran })
  return ran
}

async function runHeld<Claim>(
  machine: RunMachine,
  kept: KeptRun<Claim>,
  tools: RunTools<Claim>,
): Promise<Ran> {
  const hold = holdRun(machine, kept, tools)
  try {
    return await report(kept, await handle(machine, kept, hold, tools))
  } finally {
    await hold.close()
  }
}

/** What the worker has to report of a run: its outcome, or nothing of a run that it has lost. */
type Handled = Outcome | { readonly outcome: 'stopped'; readonly why: RunLost }

/** Why a handler must stop before it has ended by itself, and what its worker reports then. */
class RunOver extends Error {
  readonly end: Handled

  constructor(why: string, end: Handled) {
    super(`the run is over: ${why}`)
    this.end = end
  }
}

type Hold = {
  /** The handler's signal. The first reason counts. */
  readonly signal: AbortSignal
  /** Aborted with the signal, and when the run has ended: work that a handler did not await may outlive its run. */
  readonly over: AbortSignal
  close(): Promise<void>
}

function holdRun<Claim>(
  { clock }: RunMachine,
  kept: KeptRun<Claim>,
  { aborting, outOfTime }: RunTools<Claim>,
): Hold {
  const [stopped, ended] = [new AbortController(), new AbortController()]
  const over = AbortSignal.any([stopped.signal, ended.signal])
  const stop = (why: string, end: Handled) => stopped.abort(new RunOver(why, end))
  kept.hold(why => stop(why === 'storage' ? 'its lease has ended' : why, { outcome: 'stopped', why }), over)
  whenAborted(aborting, over, () => stop('stopping', { outcome: 'release' }))
  whenAborted(outOfTime, over, () =>
    stop('out-of-time', timedOut('the run took longer than its function may')),
  )
  const timing = stopInTime(clock, kept.rules, over, stop)
  return {
    signal: stopped.signal,
    over,
    close: async () => {
      ended.abort(new Error('the run has ended'))
      await Promise.all([kept.close(), timing])
    },
  }
}

function whenAborted(signal: AbortSignal | undefined, over: AbortSignal, stop: () => void): void {
  if (signal?.aborted) stop()
  signal?.addEventListener('abort', stop, { once: true, signal: over })
}

/** A longer wait consists of several sleeps, since a timer of more than 2^31 − 1 ms fires at once. */
const SLEEP_MS_MAX = 3_600_000

/** Stops the run at its timeout or at the task's deadline, whichever comes first. */
async function stopInTime(
  clock: Clock,
  { timeoutMs, timeoutAt = Number.POSITIVE_INFINITY, deadline }: RunRules,
  over: AbortSignal,
  stop: (why: string, end: Handled) => void,
): Promise<void> {
  const until = Math.min(timeoutAt, deadline?.at ?? Number.POSITIVE_INFINITY)
  if (!Number.isFinite(until)) return
  while (!over.aborted && clock.now() < until) {
    await clock.sleep(Math.min(until - clock.now(), SLEEP_MS_MAX), over)
  }
  if (over.aborted) return
  if (deadline && deadline.at <= clock.now()) stop('deadline', { outcome: 'fail', error: deadline.error })
  else stop('timed-out', timedOut(`the run took longer than ${timeoutMs} ms`))
}

function timedOut(message: string): Outcome {
  return { outcome: 'fail', error: { name: 'TimedOut', message } }
}

/** The outcome of the handler. When the run is stopped, the reason decides, and the handler is not awaited. */
async function handle<Claim>(
  machine: RunMachine,
  kept: KeptRun<Claim>,
  { signal, over }: Hold,
  { definition, hooks }: RunTools<Claim>,
): Promise<Handled> {
  const { facts, rules } = kept
  const { taskId, runId, traceparent } = facts
  const log = createRunLog(machine, { taskId, traceId: traceIdOf(traceparent), runId })
  // It listens before the handler does, so that what the handler throws because of its signal comes second.
  const stopped = endOfStopped(signal)
  const handled = callHandler({
    ...{ ...rules, definition, log },
    context: handlerContext(facts, { ...kept, signal, over, log }),
    content: async () => {
      await hooks?.beforeRun(kept.claim)
      return kept.content()
    },
  })
  const first = await Promise.race([stopped, handled])
  return first.outcome === 'stopped' ? first : log.outcomeWithLog(first)
}

/** Resolves, once the run is stopped, with what its worker reports then. */
function endOfStopped(signal: AbortSignal): Promise<Handled> {
  return new Promise(resolve => {
    const stop = () => resolve((signal.reason as RunOver).end)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
  })
}

/** Writes the end of a run that its worker still holds. */
async function report(kept: KeptRun, handled: Handled): Promise<Ran> {
  if (handled.outcome === 'stopped') {
    kept.abandon(handled.why)
    return { outcome: 'stopped' }
  }
  const stored = await kept.finish(handled)
  if (stored?.outcome === 'fail') return { outcome: 'fail', error: stored.error }
  return { outcome: stored?.outcome ?? 'stopped' }
}
