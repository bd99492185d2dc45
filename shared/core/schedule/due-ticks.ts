import { MISSED_TICK_MS } from '../limits.ts'
import type { Missed } from './schedule.ts'

/** The ticks of a schedule, earliest first. */
export type Ticks = {
  /** The first one after a time; undefined: there is none any more. */
  next(after: number): number | undefined
  /** The last `count` of those from `from` up to, but without `before`. */
  last(count: number, from: number, before: number): number[]
}

export type DueTicks = {
  /** To be published now. At most as many as are caught up on, and those of a minute. */
  readonly publish: readonly number[]
  /** When the schedule is due again; undefined: never. */
  readonly next: number | undefined
}

/**
 * What a schedule owes that is due since `from`. A tick counts as missed once it is a minute old, or when it fell into a
 * pause (before `resumedAt`).
 */
export function dueTicks(
  ticks: Ticks,
  {
    from,
    missed,
    resumedAt = 0,
  }: { readonly from: number; readonly missed: Missed; readonly resumedAt?: number | undefined },
  now: number,
): DueTicks {
  const inTimeFrom = Math.min(now, Math.max(from, now - MISSED_TICK_MS, resumedAt))
  const late = missed === 'skip' ? [] : ticks.last(missed.catchUp, from, inTimeFrom)
  return { publish: [...late, ...ticksBetween(ticks, inTimeFrom, now)], next: ticks.next(now) }
}

/** Both ends included. */
function ticksBetween(ticks: Ticks, from: number, to: number): number[] {
  const found: number[] = []
  for (let tick = ticks.next(from - 1); tick !== undefined && tick <= to; tick = ticks.next(tick)) {
    found.push(tick)
  }
  return found
}

/** Every so many milliseconds from `anchor` on, without the anchor itself. */
export function ticksEvery(everyMs: number, anchor: number): Ticks {
  const next = (after: number) => anchor + Math.max(1, Math.floor((after - anchor) / everyMs) + 1) * everyMs
  return {
    next,
    last: (count, from, before) => {
      const end = next(before - 1) - everyMs
      const start = Math.max(next(from - 1), end - (count - 1) * everyMs)
      const length = Math.max(0, Math.floor((end - start) / everyMs) + 1)
      return Array.from({ length }, (_, index) => start + index * everyMs)
    },
  }
}

export function ticksAt(at: number): Ticks {
  return {
    next: after => (after < at ? at : undefined),
    last: (count, from, before) => (count > 0 && at >= from && at < before ? [at] : []),
  }
}
