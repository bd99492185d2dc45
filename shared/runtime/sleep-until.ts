import type { Clock } from '../ports/machine.ts'

/**
 * Waits until the clock shows `time`. Timers may fire a millisecond before the clock gets there, and a claim a
 * millisecond early is refused as not due.
 */
export async function sleepUntil(clock: Clock, time: number): Promise<void> {
  for (let left = time - clock.now(); left > 0; left = time - clock.now()) await clock.sleep(left)
}
