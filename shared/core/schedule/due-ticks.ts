import type { Pause, ScheduleState } from '../task/head-fields.ts'

/** The ticks of a schedule, earliest first. */
export type Ticks = {
  /** The first tick after a time; undefined when no tick follows. */
  next(after: number): number | undefined
  /** The last `count` ticks from `from` up to, but without, `before`. A schedule of few ticks has no such search. */
  last?(count: number, from: number, before: number): number[]
}

export type DueTicks = {
  /** The ticks to publish now, earliest first. */
  readonly publish: readonly number[]
  /** The time at which the schedule is due again; undefined for never. */
  readonly next: number | undefined
}

/** The settings and facts that decide which due ticks a schedule publishes. */
export type OwedTicks = Pick<ScheduleState, 'missed' | 'graceMs' | 'pauses'> & {
  /** The first tick that no process has handled. */
  readonly from: number
}

/**
 * The ticks that a schedule must publish now. With `skip` that is the latest due tick, unless it fell into a pause or is late by
 * more than `graceMs`. With `catchUp` it is the latest few due ticks, however late.
 */
export function dueTicks(
  ticks: Ticks,
  { from, missed, graceMs, pauses = [] }: OwedTicks,
  now: number,
): DueTicks {
  const next = ticks.next(now)
  if (missed !== 'skip') return { publish: lastDue(ticks, missed.catchUp, from, now), next }
  const isMissed = (tick: number) => now - tick > graceMs || pauses.some(pause => fellInto(pause, tick))
  return { publish: lastDue(ticks, 1, from, now).filter(tick => !isMissed(tick)), next }
}

/** Steps forward before the search goes backwards. In the hours after clocks are put back, a backward search takes up to 0.2 s. */
const STEPS_MAX = 20

function lastDue(ticks: Ticks, count: number, from: number, now: number): readonly number[] {
  const due: number[] = []
  for (let tick = ticks.next(from - 1); tick !== undefined && tick <= now; tick = ticks.next(tick)) {
    if (ticks.last && due.length === STEPS_MAX) return ticks.last(count, from, now + 1)
    due.push(tick)
  }
  return due.slice(-count)
}

function fellInto({ from, to }: Pause, tick: number): boolean {
  return tick >= from && (to === undefined || tick < to)
}

/** Ticks every `everyMs` after `anchor`, without the anchor itself. */
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
  return { next: after => (after < at ? at : undefined) }
}
