import type { Clock } from '../ports/machine.ts'

/**
 * An instant by both clocks of a process. Neither is enough to tell how much time has passed since: the wall clock may be
 * set back (by a time service, or when a virtual machine goes on), and the monotonic clock may stand still while a sandbox is
 * frozen. Whichever shows more is believed.
 */
export type Moment = { readonly wall: number; readonly monotonic: number }

export function momentOf(clock: Pick<Clock, 'now' | 'monotonic'>): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() }
}

/** Milliseconds that have passed since, at least. */
export function elapsedSince(clock: Pick<Clock, 'now' | 'monotonic'>, since: Moment): number {
  return Math.max(clock.now() - since.wall, clock.monotonic() - since.monotonic)
}

/** Whether less than `ms` have passed since, by both clocks. False after a clock was set back, because the elapsed time is unknown. */
export function isWithin(clock: Pick<Clock, 'now' | 'monotonic'>, since: Moment, ms: number): boolean {
  const isSetBack = clock.now() < since.wall || clock.monotonic() < since.monotonic
  return !isSetBack && elapsedSince(clock, since) < ms
}
