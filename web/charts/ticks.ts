/**
 * The marks of axes, at round values. d3-array and d3-time would replace half of this file, but do not count weeks and months
 * from zero; uPlot draws on a canvas, which has no text for screen readers.
 */

import { MINUTE_MS } from './series.ts'

const DAY_MS = 86_400_000
/** Round lengths of time in milliseconds, up to a day. */
const LENGTHS = [
  ...[1_000, MINUTE_MS].flatMap(unit => [1, 2, 5, 10, 15, 30].map(times => times * unit)),
  ...[1, 2, 3, 6, 12].map(hours => hours * 3_600_000),
]

/** The distance between marks of numbers: the next of 1, 2, 5 × 10ⁿ that gives at most `count` distances. */
export function stepOf(length: number, count: number): number {
  const least = length / count
  const unit = 10 ** Math.floor(Math.log10(least))
  return [1, 2, 5].map(times => times * unit).find(step => step >= least) ?? 10 * unit
}

/** The same for a length of time in milliseconds. Below a second and from a day on, its number of units is 1, 2, 5 × 10ⁿ. */
export function timeStepOf(ms: number, count: number): number {
  const least = ms / count
  if (least <= 500) return stepOf(ms, count)
  return LENGTHS.find(length => length >= least) ?? Math.max(DAY_MS, stepOf(ms / DAY_MS, count) * DAY_MS)
}

/** The multiples of a step from `from` to `to`. */
export function ticksOf(from: number, to: number, step: number): number[] {
  const first = Math.ceil(from / step)
  return Array.from(
    { length: Math.max(0, Math.floor(to / step) - first + 1) },
    (_, nth) => (first + nth) * step,
  )
}

/** Round local times between two times, in milliseconds since the epoch. */
export function clockTicksOf(from: number, to: number, count: number): number[] {
  const offset = new Date(from).getTimezoneOffset() * MINUTE_MS
  return ticksOf(from - offset, to - offset, timeStepOf(to - from, count)).map(at => at + offset)
}
