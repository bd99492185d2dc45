import { hash32 } from '../../../shared/core/values/text.ts'
import { START, type World } from './world.ts'

/**
 * The wall clock of a process. Its error is constant, plus a second error that changes at each jump where the
 * weather has jumps.
 */
export type WallClock = {
  now(): number
  /** The latest time that it may have shown since the jump before the last one. */
  latest(): number
}

/**
 * A clock jumps once in each span of between `SPAN_MS_MIN` and `SPAN_MS_MAX`, which is far longer than a call
 * takes.
 */
const SPAN_MS_MIN = 4_000
const SPAN_MS_MAX = 15_000

export function createWallClock(world: World, name: string, skewMs: number): WallClock {
  const { timeline, scenario } = world
  const { stepMs } = scenario.weather
  const plain = () => Math.floor(timeline.now()) + skewMs
  if (stepMs === 0) return { now: plain, latest: plain }
  const seed = world.seedOf(`clock of ${name}`)
  const spanMs = SPAN_MS_MIN + (seed % (SPAN_MS_MAX - SPAN_MS_MIN))
  const spanNow = () => {
    const elapsed = Math.min(timeline.now() - START, scenario.calmAt)
    return Math.floor((elapsed + (seed % spanMs)) / spanMs)
  }
  /** The error in a span, between -stepMs and stepMs. */
  const errorIn = (span: number) => (hash32(`${seed} ${span}`) % (2 * stepMs + 1)) - stepMs
  return {
    now: () => plain() + errorIn(spanNow()),
    latest: () => plain() + Math.max(errorIn(spanNow()), errorIn(spanNow() - 1)),
  }
}
