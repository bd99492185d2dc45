import { Cron } from 'croner'
import { type Ticks, ticksAt, ticksEvery } from '../../core/schedule/due-ticks.ts'
import type { Timing } from '../../core/task/schedule-state.ts'
import { CLOCK_CHANGE_MS_MAX, createWallClock, type WallClock } from './wall-clock.ts'

/**
 * The ticks of a cron expression in a time zone. The expression only says which wall times there are, as if clocks were
 * never changed; each of them is then the time at which the zone's clocks show it first, or none where a clock change
 * skips it. So no wall time runs twice, and none runs that was never shown.
 *
 * @throws TypeError when `cron` cannot be read, RangeError when there is no such time zone.
 */
export function cronTicks(cron: string, timezone: string): Ticks {
  const pattern = new Cron(cron, { mode: '5-or-6-parts', timezone: 'UTC', paused: true })
  const clock = createWallClock(timezone)
  return {
    next: after => nextTick(pattern, clock, after),
    last: (count, from, before) => lastTicks(pattern, clock, { count, from, before }),
  }
}

/** What cannot be found within so many years, like a 29th of February that is the fifth Monday, counts as never. */
const HORIZON_MS = 50 * 366 * 86_400_000

function nextTick(pattern: Cron, clock: WallClock, after: number): number | undefined {
  const start = clock.at(after)
  for (let wall = nextWall(pattern, start); wall !== undefined; wall = nextWall(pattern, wall)) {
    if (wall > start + HORIZON_MS) return undefined
    const time = clock.firstTime(wall)
    if (time !== undefined && time > after) return time
  }
  return undefined
}

function nextWall(pattern: Cron, after: number): number | undefined {
  return pattern.nextRun(new Date(after))?.getTime()
}

type Span = { readonly count: number; readonly from: number; readonly before: number }

/**
 * Backwards, from the latest wall time that was shown before; earliest first. What is earlier on the wall than `from` was
 * shown before it.
 */
function lastTicks(pattern: Cron, clock: WallClock, { count, from, before }: Span): number[] {
  const found: number[] = []
  const first = clock.at(from)
  let wall = latestShown(clock, before)
  while (found.length < count) {
    const [earlier] = pattern.previousRuns(1, new Date(wall))
    if (!earlier || earlier.getTime() < first) break
    wall = earlier.getTime()
    const time = clock.firstTime(wall)
    if (time !== undefined && time >= from && time < before) found.unshift(time)
  }
  return found
}

/** Clocks that were put back within the last hours have shown later times before. */
function latestShown(clock: WallClock, before: number): number {
  const shown = clock.at(before)
  const wasPutBack = clock.at(before - CLOCK_CHANGE_MS_MAX) !== shown - CLOCK_CHANGE_MS_MAX
  return wasPutBack ? shown + CLOCK_CHANGE_MS_MAX : shown
}

/** What is wrong with a cron expression, and which of its fields it is; undefined when it can be read. */
export function cronProblem(cron: string): string | undefined {
  const fields = cron.trim().split(/\s+/)
  if (cron.trim() === '') return `is empty; it ${LEGAL}`
  if (fields.length !== 5 && fields.length !== 6) return `has ${fields.length} fields; it ${LEGAL}`
  const fault = faultOf(cron)
  if (fault === undefined) return undefined
  const names = FIELDS.slice(-fields.length)
  const at = fields.findIndex((field, index) => faultOf(alone(field, index, fields.length)) !== undefined)
  return at < 0
    ? `cannot be read: ${fault}; it ${LEGAL}`
    : `cannot be read: its ${names[at]} is '${fields[at]?.slice(0, MOST_SHOWN)}'; it ${LEGAL}`
}

function faultOf(cron: string): string | undefined {
  try {
    new Cron(cron, { mode: '5-or-6-parts', paused: true })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error)
  }
}

/** The field in its place, and nothing said in all others. */
function alone(field: string, index: number, length: number): string {
  return Array.from({ length }, (_, other) => (other === index ? field : '*')).join(' ')
}

const MOST_SHOWN = 40
const FIELDS = ['second', 'minute', 'hour', 'day of month', 'month', 'day of week']

const LEGAL =
  'must have 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first, of numbers, *, ranges as 1-5, lists as 1,3 and steps as */5'

/** The ticks of a timing; `createdAt` is when its schedule was created. */
export function ticksOfTiming(timing: Timing, createdAt: number): Ticks {
  switch (timing.kind) {
    case 'cron':
      return cronTicks(timing.cron, timing.timezone)
    case 'every':
      return ticksEvery(timing.everyMs, createdAt)
    case 'at':
      return ticksAt(timing.at)
  }
}
