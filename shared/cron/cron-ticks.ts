import { Cron } from 'croner'
import type { ScheduleBody } from '../api/schedules.ts'
import { DELAY_MS_MAX } from '../core/bounds.ts'
import { type Ticks, ticksAt, ticksEvery } from '../core/schedule.ts'
import type { Timing } from '../core/task/head-fields.ts'
import type { FieldProblem } from '../core/values/values.ts'
import { CLOCK_CHANGE_MS_MAX, createWallClock, isTimezone, type WallClock } from './wall-clock.ts'

/**
 * The ticks of a cron expression in a time zone.
 *
 * The expression yields wall times, as if clocks never changed. Each wall time becomes the first moment at
 * which the clocks of the zone show it, or no tick where a clock change skips it. So no wall time ticks twice,
 * and none ticks that no clock showed.
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

/** A time that does not occur within this span, such as a 29th of February that is a fifth Monday, counts as never. */
const HORIZON_MS_MAX = 50 * 366 * 86_400_000

function nextTick(pattern: Cron, clock: WallClock, after: number): number | undefined {
  const start = clock.at(after)
  for (let wall = nextWall(pattern, start); wall !== undefined; wall = nextWall(pattern, wall)) {
    if (wall > start + HORIZON_MS_MAX) return undefined
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
 * The last ticks in a span, earliest first, found backwards from the latest wall time that was shown before its
 * end. A wall time earlier than the wall time of `from` was shown before `from`.
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

/** The latest wall time shown before a moment. Clocks that were put back within the last hours have shown later times already. */
function latestShown(clock: WallClock, before: number): number {
  const shown = clock.at(before)
  const wasPutBack = clock.at(before - CLOCK_CHANGE_MS_MAX) !== shown - CLOCK_CHANGE_MS_MAX
  return wasPutBack ? shown + CLOCK_CHANGE_MS_MAX : shown
}

/** What is wrong with a cron expression, and with which of its fields; undefined when it can be read. */
export function cronProblem(cron: string): string | undefined {
  const fields = cron.trim().split(/\s+/)
  if (cron.trim() === '') return `is empty; it ${LEGAL_FORM}`
  if (fields.length !== 5 && fields.length !== 6) return `has ${fields.length} fields; it ${LEGAL_FORM}`
  const fault = parseError(cron)
  if (fault === undefined) return undefined
  const names = FIELDS.slice(-fields.length)
  const at = fields.findIndex(
    (field, index) => parseError(onlyField(field, index, fields.length)) !== undefined,
  )
  return at < 0
    ? `cannot be read: ${fault}; it ${LEGAL_FORM}`
    : `cannot be read: its ${names[at]} is '${fields[at]?.slice(0, SHOWN_CHARACTERS_MAX)}'; it ${LEGAL_FORM}`
}

function parseError(cron: string): string | undefined {
  try {
    new Cron(cron, { mode: '5-or-6-parts', paused: true })
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message.replace(/^\w+: /, '') : String(error)
  }
}

/** An expression with only this field set. */
function onlyField(field: string, index: number, length: number): string {
  return Array.from({ length }, (_, other) => (other === index ? field : '*')).join(' ')
}

const SHOWN_CHARACTERS_MAX = 40
const FIELDS = ['second', 'minute', 'hour', 'day of month', 'month', 'day of week']

const LEGAL_FORM =
  'must have 5 fields (minute, hour, day of month, month, day of week), or 6 with seconds first, of numbers, *, ranges as 1-5, lists as 1,3 and steps as */5'

/** The ticks of a timing. `createdAt` is when its schedule was created, from which `every` counts. */
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

type GivenTiming = Pick<ScheduleBody, 'cron' | 'everyMs' | 'at' | 'timezone'>

/** Finds the problems that no rule expresses: when a schedule has no timing or two, or one that cannot be read. */
export function timingProblems({ cron, everyMs, at, timezone }: GivenTiming, now: number): FieldProblem[] {
  const given = Object.entries({ cron, everyMs, at }).filter(([, value]) => value !== undefined)
  const [, secondTiming] = given
  const cronFault = cron === undefined ? undefined : cronProblem(cron)
  const isTooFar = at !== undefined && Date.parse(at) > now + DELAY_MS_MAX
  return [
    ...(given.length === 0 ? [{ path: 'cron', message: 'is required, unless everyMs or at is given' }] : []),
    ...(secondTiming
      ? [{ path: secondTiming[0], message: 'is one too many: give one of cron, everyMs and at' }]
      : []),
    ...(cronFault === undefined ? [] : [{ path: 'cron', message: cronFault }]),
    ...(isTooFar ? [{ path: 'at', message: 'must be within ten years' }] : []),
    ...(timezone === undefined ? [] : timezoneProblems(timezone, cron)),
  ]
}

function timezoneProblems(timezone: string, cron: string | undefined): FieldProblem[] {
  if (cron === undefined) return [{ path: 'timezone', message: 'is for cron only' }]
  if (isTimezone(timezone)) return []
  return [{ path: 'timezone', message: 'must be the IANA name of a time zone, such as Europe/Berlin' }]
}
