import type { Clock } from '../../ports/machine.ts'

/**
 * An instant by both clocks of a process. Neither clock alone measures elapsed time safely. The wall clock may be set back
 * by a time service, or when a virtual machine resumes. The monotonic clock may stand still while a sandbox is frozen. So
 * the clock that shows more elapsed time counts.
 */
export type Moment = { readonly wall: number; readonly monotonic: number }

export function momentOf(clock: Pick<Clock, 'now' | 'monotonic'>): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() }
}

/** The milliseconds that have passed since the moment, by the clock that shows more. */
export function elapsedSince(clock: Pick<Clock, 'now' | 'monotonic'>, since: Moment): number {
  return Math.max(clock.now() - since.wall, clock.monotonic() - since.monotonic)
}

/**
 * Whether less than `ms` have passed since the moment, by both clocks. False after a clock was set back, because then the
 * elapsed time is unknown.
 */
export function isWithin(clock: Pick<Clock, 'now' | 'monotonic'>, since: Moment, ms: number): boolean {
  const isSetBack = clock.now() < since.wall || clock.monotonic() < since.monotonic
  return !isSetBack && elapsedSince(clock, since) < ms
}

/** Timers may fire a millisecond early, and the two clocks of a process round differently. */
const SLACK_MS = 50

/**
 * Waits until the wall clock shows `time`, not a millisecond less: an early claim is refused as not due. A clock that is
 * set back meanwhile does not prolong the wait.
 */
export async function sleepUntil(clock: Clock, time: number): Promise<void> {
  const since = momentOf(clock)
  const sleepMsMax = time - since.wall + SLACK_MS
  for (let left = time - since.wall; left > 0; left = time - clock.now()) {
    const restMs = sleepMsMax - elapsedSince(clock, since)
    if (restMs <= 0) return
    await clock.sleep(Math.min(left, restMs))
  }
}
