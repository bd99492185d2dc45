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

/** The first heartbeat is sent after this time at the latest, so that lists show a run as running within two seconds. */
const FIRST_BEAT_MS = 1_500

/** A heartbeat that is in progress when the hold is closed gets this long to end. */
const LAST_BEAT_MS = 1_000

/** A hold on a run: it sends heartbeats until it is closed. */
export type Hold = {
  /** The handler's signal: aborted when the run must stop. */
  readonly signal: AbortSignal
  /** Aborted with the signal, and when the hold is closed: work that a handler did not await may outlive its run. */
  readonly over: AbortSignal
  /**
   * Aborts the signal if the lease has ended. After a process was asleep, its handler may resume before the hold's
   * timers.
   */
  refresh(): void
  /** Why the signal was aborted. */
  reason(): StopReason | undefined
  /** How long the lease lasts at least, as far as this process knows. 0 or less when it may have ended. */
  leaseLeftMs(): number
  /** The task as the last heartbeat saw it. */
  task(): Task
  /** Aborts the handler's signal. The first reason counts. */
  stop(reason: StopReason): void
  /** Sends the progress with the next heartbeat. */
  report(progress: Json): void
  /** Ends the heartbeats. Resolves when none is in progress any more. */
  close(): Promise<void>
}

/**
 * Keeps a run alive by heartbeats. A heartbeat that finds the run gone aborts the handler's signal at once. When the store
 * fails or does not answer, the run goes on until the lease ends by either clock.
 *
 * Each heartbeat returns the task as it is stored, so a changed `heartbeatMs` applies from the next heartbeat.
 */
export function holdRun(system: System, claimed: Claimed): Hold {
  const handler = new AbortController()
  const closing = new AbortController()
  let task = claimed.task
  let lease: Lease = { until: claimed.run.leaseUntil, since: momentOf(system.clock) }
  let progress: Json | undefined
  let stopped: StopReason | undefined

  const stop = (reason: StopReason) => {
    stopped ??= reason
    handler.abort(new Error(`the run is over: ${stopped}`))
  }

  const beatOnce = async () => {
    const sent = progress
    const since = momentOf(system.clock)
    progress = undefined
    const beat = { born: task.born, fence: claimed.run.fence, ...(sent !== undefined && { progress: sent }) }
    const answer = await sendBeat(system, task, beat).catch(error => {
      if (progress === undefined) progress = sent
      throw error
    })
    if (!answer.ok) return stop(answer.reason)
    task = answer.task
    lease = { until: answer.leaseUntil, since }
  }

  const beating = (async () => {
    let interval = Math.min(FIRST_BEAT_MS, beatIntervalMs(task, claimed.run.fence))
    while (!closing.signal.aborted && !stopped) {
      await system.clock.sleep(interval, closing.signal)
      if (closing.signal.aborted || stopped) return
      await beatOnce().catch(error => {
        system.log.warn('a heartbeat failed', { ...logFields(task), error })
      })
      interval = beatIntervalMs(task, claimed.run.fence)
    }
  })()
  const stopWithoutLease = () => {
    if (!closing.signal.aborted && leftOf(system.clock, lease) <= 0) stop('storage')
  }
  const watchingLease = (async () => {
    while (!closing.signal.aborted && !stopped) {
      await system.clock.sleep(leftOf(system.clock, lease), closing.signal)
      stopWithoutLease()
    }
  })()
  const timeouts = watchTimeouts(system, claimed, stop, closing.signal)

  return {
    signal: handler.signal,
    over: AbortSignal.any([handler.signal, closing.signal]),
    refresh: stopWithoutLease,
    reason: () => stopped,
    leaseLeftMs: () => leftOf(system.clock, lease),
    task: () => task,
    stop,
    report: value => {
      progress = value
    },
    close: async () => {
      closing.abort(new Error('the run has ended'))
      // A heartbeat that hangs is not awaited: the fence refuses what it may still write.
      const beaten = new AbortController()
      await Promise.race([
        beating.finally(() => beaten.abort()),
        system.clock.sleep(LAST_BEAT_MS, beaten.signal),
      ])
      await Promise.all([watchingLease, timeouts])
    },
  }
}

/** A lease as this process knows it. `since` is a moment before the lease was asked for. */
type Lease = { readonly until: number; readonly since: Moment }

/**
 * How much of the lease is left, by both clocks. With the wall clock alone, a run would outlast its lease after the clock
 * was set back, since other processes judge the lease by their own clocks. The monotonic clock measures its full length.
 */
function leftOf(clock: Clock, { until, since }: Lease): number {
  return until - since.wall - elapsedSince(clock, since)
}

type BeatAnswer = { ok: true; task: Task; leaseUntil: number } | { ok: false; reason: RunGone }

/** Writes one heartbeat. It is decided again when the task has changed meanwhile. */
async function sendBeat(system: System, seen: Task | undefined, beat: Beat): Promise<BeatAnswer> {
  const { decision, head: task } = await transact(system, seen, current =>
    heartbeat(current, beat, system.clock.now()),
  )
  if (!decision.ok) return decision
  if (!task) throw new Error('a heartbeat was written but left no task')
  return { ok: true, task, leaseUntil: decision.leaseUntil }
}

/** Stops the run at its timeout or at the task's deadline, whichever comes first. */
async function watchTimeouts(
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
    await system.clock.sleep(Math.min(until - system.clock.now(), SLEEP_MS_MAX), over)
  }
  if (over.aborted) return
  stop(isPastDeadline(task, system.clock.now()) ? 'deadline' : 'timed-out')
}

/** A longer wait consists of several sleeps, since a timer of more than 2^31 − 1 ms fires at once. */
const SLEEP_MS_MAX = 3_600_000
