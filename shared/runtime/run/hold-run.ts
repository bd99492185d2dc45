import type { Json } from '../../core/json.ts'
import { isPastDeadline } from '../../core/run/deadline.ts'
import { type Beat, beatIntervalMs, heartbeat } from '../../core/run/heartbeat.ts'
import type { RunGone } from '../../core/run/run.ts'
import type { Task } from '../../core/task/task.ts'
import type { Clock } from '../../ports/machine.ts'
import type { Claimed } from '../claim/claim.ts'
import { transact } from '../kernel/kernel.ts'
import type { StopReason } from '../kernel/log-run-ends.ts'
import { elapsedSince, type Moment, momentOf } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import { logFields } from '../kernel/traceparent.ts'

/** The first heartbeat comes this early, so that lists show a run as running within two seconds. */
const FIRST_BEAT_MS = 1_500

/** A beat that is under way at the end gets this long. */
const LAST_BEAT_MS = 1_000

/** A hold on a run: heartbeats go on until it is let go. */
export type Hold = {
  readonly signal: AbortSignal
  /** Aborted with the signal, or when the hold is let go: a handler's stragglers may outlive its run. */
  readonly over: AbortSignal
  /** Aborts the signal if that is due. A process that was asleep goes on with its handler before any timer of ours. */
  refresh(): void
  /** Why the signal was aborted. */
  reason(): StopReason | undefined
  /** How long the lease lasts at least, as far as this process knows; 0 or less when it may be over. */
  leaseLeftMs(): number
  /** The task as the last heartbeat saw it. */
  task(): Task
  stop(reason: StopReason): void
  report(progress: Json): void
  /** Ends the heartbeats; resolves when none is under way any more. */
  close(): Promise<void>
}

/**
 * Keeps a run by heartbeats. A beat that finds the run gone aborts the signal at once. Storage that fails, or does not
 * answer at all, is tolerated until the lease would end by either clock. A changed `heartbeatMs` applies from the next beat, since every beat answers with the
 * task as it stands.
 */
export function holdRun(system: System, claimed: Claimed): Hold {
  const handler = new AbortController()
  const letting = new AbortController()
  let task = claimed.task
  let lease: Lease = { until: claimed.run.leaseUntil, since: momentOf(system.clock) }
  let progress: Json | undefined
  let stopped: StopReason | undefined

  const stop = (reason: StopReason) => {
    stopped ??= reason
    handler.abort(new Error(`the run is over: ${stopped}`))
  }

  const beatOnce = async () => {
    const said = progress
    const since = momentOf(system.clock)
    progress = undefined
    const beat = { born: task.born, fence: claimed.run.fence, ...(said !== undefined && { progress: said }) }
    const answer = await sendBeat(system, task, beat).catch(error => {
      if (progress === undefined) progress = said
      throw error
    })
    if (!answer.ok) return stop(answer.reason)
    task = answer.task
    lease = { until: answer.leaseUntil, since }
  }

  const beating = (async () => {
    let interval = Math.min(FIRST_BEAT_MS, beatIntervalMs(task, claimed.run.fence))
    while (!letting.signal.aborted && !stopped) {
      await system.clock.sleep(interval, letting.signal)
      if (letting.signal.aborted || stopped) return
      await beatOnce().catch(error => {
        system.log.warn('heartbeat failed', { ...logFields(task), error })
      })
      interval = beatIntervalMs(task, claimed.run.fence)
    }
  })()
  const stopWithoutLease = () => {
    if (!letting.signal.aborted && leftOf(system.clock, lease) <= 0) stop('storage')
  }
  const watchingLease = (async () => {
    while (!letting.signal.aborted && !stopped) {
      await system.clock.sleep(leftOf(system.clock, lease), letting.signal)
      stopWithoutLease()
    }
  })()
  const limits = watchLimits(system, claimed, stop, letting.signal)

  return {
    signal: handler.signal,
    over: AbortSignal.any([handler.signal, letting.signal]),
    refresh: stopWithoutLease,
    reason: () => stopped,
    leaseLeftMs: () => leftOf(system.clock, lease),
    task: () => task,
    stop,
    report: value => {
      progress = value
    },
    close: async () => {
      letting.abort(new Error('the run has ended'))
      // A beat that hangs is not waited for: the fence refuses whatever it may still write.
      const beaten = new AbortController()
      await Promise.race([
        beating.finally(() => beaten.abort()),
        system.clock.sleep(LAST_BEAT_MS, beaten.signal),
      ])
      await Promise.all([watchingLease, limits])
    },
  }
}

/** A lease as this process knows it, and when it had not been asked for yet. */
type Lease = { readonly until: number; readonly since: Moment }

/**
 * The wall clock alone would let a run outlast its lease when it is set back: others judge the lease by their own clocks. By
 * the monotonic clock the lease is as long as it was when it was asked for.
 */
function leftOf(clock: Clock, { until, since }: Lease): number {
  return until - since.wall - elapsedSince(clock, since)
}

type BeatAnswer = { ok: true; task: Task; leaseUntil: number } | { ok: false; reason: RunGone }

/** One heartbeat, decided again when the task changed under it. */
async function sendBeat(system: System, seen: Task | undefined, beat: Beat): Promise<BeatAnswer> {
  const { decision, task } = await transact(system, seen, current =>
    heartbeat(current, beat, system.clock.now()),
  )
  if (!decision.ok) return decision
  if (!task) throw new Error('a heartbeat was written but left no task')
  return { ok: true, task, leaseUntil: decision.leaseUntil }
}

/** Stops the run at its own limit or the task's deadline, whichever comes first. */
async function watchLimits(
  system: System,
  { task, run }: Claimed,
  stop: (reason: StopReason) => void,
  over: AbortSignal,
): Promise<void> {
  const until = Math.min(
    run.timeoutAt ?? Number.POSITIVE_INFINITY,
    task.deadlineAt ?? Number.POSITIVE_INFINITY,
  )
  if (!Number.isFinite(until)) return
  while (!over.aborted && system.clock.now() < until) {
    await system.clock.sleep(Math.min(until - system.clock.now(), MAX_SLEEP_MS), over)
  }
  if (over.aborted) return
  stop(isPastDeadline(task, system.clock.now()) ? 'deadline' : 'timed-out')
}

/** Timers beyond 2^31 − 1 ms fire at once; longer waits are made of several. */
const MAX_SLEEP_MS = 3_600_000
