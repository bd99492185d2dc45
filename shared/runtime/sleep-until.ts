import type { Clock } from '../ports/machine.ts'
import { elapsedSince, momentOf } from './moment.ts'

/** Timers may fire a millisecond early, and the two clocks of a process round differently. */
const SLACK_MS = 50

/**
 * Waits until the wall clock shows `time`: a claim a millisecond early is refused as not due. A clock that is set back
 * meanwhile prolongs no wait: this then resolves as early as if it had not been.
 */
export async function sleepUntil(clock: Clock, time: number): Promise<void> {
  const since = momentOf(clock)
  const mostMs = time - since.wall + SLACK_MS
  for (let left = time - since.wall; left > 0; left = time - clock.now()) {
    const restMs = mostMs - elapsedSince(clock, since)
    if (restMs <= 0) return
    await clock.sleep(Math.min(left, restMs))
  }
}
