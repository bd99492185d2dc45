/**
 * One run, from its claim to its end, the same for functions, for workers of queues and for workers over HTTP:
 *
 * 1. `holdRun` renews the lease by heartbeats, and stops the handler when the run is lost, out of time, or must make room.
 * 2. `handle` calls the handler, or takes the reason for which the run was stopped. Both give an outcome.
 * 3. The keeper writes the end. The fence decides whether the write is accepted.
 * 4. The hooks of the worker learn how the run ended.
 *
 * A keeper (`ports/runs.ts`) does what reaches the world. Read next: `keep-in-table.ts`, which keeps a run in the table itself, with
 * `claim/claimed-task.ts`, the write of the end. Workers over HTTP keep their runs by requests (`worker/http/http-worker.ts`), which
 * `http-runs.ts` serves. `handler/handler.ts` is the call of the handler.
 */

import { LIVE_LOG_BYTES_MAX } from '../../core/bounds.ts'
import type { Outcome } from '../../core/run/run.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { deferred } from '../../core/values/deferred.ts'
import { isOutage } from '../../core/values/values.ts'
import type { TaskDefinition } from '../../define/definitions.ts'
import type { Clock, Log, Metrics } from '../../ports/machine.ts'
import type { KeptRun, RunEnd, RunFacts, RunLost, RunRules } from '../../ports/runs.ts'
import { Release } from '../../signals.ts'
import { callHandler, handlerContext } from '../handler/handler.ts'
import { createRunLog } from '../handler/run-log.ts'
import { traceIdOf } from '../kernel/log-run-ends.ts'

/** How a run ended. `stopped`: another process ended it, or its lease ended before its worker could write the end. */
export type Ran = {
  readonly outcome: RunEnd['outcome']
  /** Why it failed, as it is stored. */
  readonly error?: TaskError
}

export type RunTools<Claim = unknown> = {
  readonly definition: TaskDefinition
  /** Stops the run before its process ends. The run is then released. */
  readonly aborting?: AbortSignal | undefined
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

export type RunMachine = { readonly clock: Clock; readonly log: Log; readonly metrics?: Metrics }

/**
 * Runs a claimed task to its end, and calls the hooks.
 *
 * @throws the error of an outage that outlasted the lease, or of an end that is never accepted. The end is not written then, and the run
 * ends with its lease.
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

async function runHeld(machine: RunMachine, kept: KeptRun, tools: RunTools): Promise<Ran> {
  const { clock, metrics } = machine
  const startedAt = clock.now()
  const hold = holdRun(machine, kept, tools)
  try {
    const end = await handle(machine, kept, hold, tools)
    metrics?.add('RunTime', clock.now() - startedAt, kept.facts.type)
    return report(machine, kept, end.outcome === 'stopped' ? end : await kept.finish(end))
  } finally {
    kept.forget()
    await hold.close()
  }
}

type Hold = {
  /** The handler's signal. */
  readonly signal: AbortSignal
  /** Resolves when the run is stopped, with the end that follows. The first reason counts. */
  readonly stopped: Promise<RunEnd>
  /** Aborted with the signal, and when the run has ended: work that a handler did not await may outlive its run. */
  readonly over: AbortSignal
  /** Stops the run if its lease has ended. */
  refresh(): void
  close(): Promise<void>
}

type Stop = (why: string, end: RunEnd) => void

function holdRun({ clock }: RunMachine, kept: KeptRun, { aborting, outOfTime }: RunTools): Hold {
  const [handler, ended] = [new AbortController(), new AbortController()]
  const over = AbortSignal.any([handler.signal, ended.signal])
  const { promise: stopped, resolve } = deferred<RunEnd>()
  const stop: Stop = (why, end) => {
    // Before the signal, so that what the handler throws because of its signal comes second.
    resolve(end)
    handler.abort(new Error(`the run is over: ${why}`))
  }
  const lose = (why: RunLost) =>
    stop(why === 'storage' ? 'its lease has ended' : why, { outcome: 'stopped', why })
  const holding = kept.hold(lose, over)
  whenAborted(aborting, over, () => stop('stopping', { outcome: 'release' }))
  whenAborted(outOfTime, over, () => stop('out-of-time', timedOut('its function may')))
  const timing = stopInTime(clock, kept.rules, over, stop)
  return {
    ...{ signal: handler.signal, stopped, over },
    refresh: () => {
      if (!over.aborted && kept.hasLeaseEnded()) lose('storage')
    },
    close: async () => {
      ended.abort(new Error('the run has ended'))
      await Promise.all([holding, timing])
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
  stop: Stop,
): Promise<void> {
  const until = Math.min(timeoutAt, deadline?.at ?? Number.POSITIVE_INFINITY)
  if (!Number.isFinite(until)) return
  while (!over.aborted && clock.now() < until) {
    await clock.sleep(Math.min(until - clock.now(), SLEEP_MS_MAX), over)
  }
  if (over.aborted) return
  if (deadline && deadline.at <= clock.now()) stop('deadline', { outcome: 'fail', error: deadline.error })
  else stop('timed-out', timedOut(`${timeoutMs} ms`))
}

function timedOut(bound: string): Outcome {
  return { outcome: 'fail', error: { name: 'TimedOut', message: `the run took longer than ${bound}` } }
}

/** The outcome of the handler. When the run is stopped, the reason decides, and the handler is not awaited. */
async function handle(
  machine: RunMachine,
  kept: KeptRun,
  hold: Hold,
  { definition, hooks }: RunTools,
): Promise<RunEnd> {
  const { facts, rules } = kept
  const runLog = createRunLog(machine, fieldsOf(facts))
  kept.follow(() => runLog.newest(LIVE_LOG_BYTES_MAX))
  const handled = callHandler({
    ...{ ...rules, definition, runLog },
    context: handlerContext(facts, { ...kept, ...hold, ...runLog }),
    content: async () => {
      await hooks?.beforeRun(kept.claim)
      return kept.content().catch(releaseInOutage)
    },
  })
  return runLog.endWithLog(await Promise.race([hold.stopped, handled]))
}

/** A task whose content cannot be read now is released for this long. */
const CONTENT_PAUSE_MS = 5_000

/** A store that does not answer is not the task's failure. */
function releaseInOutage(error: unknown): never {
  throw isOutage(error) ? new Release(CONTENT_PAUSE_MS) : error
}

/** What the hooks learn. The end of a stopped run is only logged here: as a warning, unless a person or an operator asked for it. */
function report({ log }: RunMachine, { facts }: KeptRun, end: RunEnd): Ran {
  if (end.outcome === 'stopped') {
    const level = REQUESTED.has(end.why) ? 'info' : 'warn'
    log[level]('run stopped', { ...fieldsOf(facts), attempt: facts.attempt, reason: end.why })
  }
  return { outcome: end.outcome, ...(end.outcome === 'fail' && { error: end.error }) }
}

const REQUESTED: ReadonlySet<RunLost> = new Set(['cancelled', 'removed', 'excluded'])

function fieldsOf({ taskId, runId, traceparent }: RunFacts) {
  return { taskId, traceId: traceIdOf(traceparent), runId }
}
