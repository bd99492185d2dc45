import type { ApiSchedule, ScheduleBody } from '../../shared/api/schedules.ts'
import type { Ticks } from '../../shared/core/schedule.ts'
import { ticksOfTiming } from '../../shared/cron/cron-ticks.ts'

export type Tick = { readonly name: string; readonly type: string; readonly at: number }

/** So many ticks of one schedule are shown. One that ticks each minute would else hide all others. */
const TICKS_OF_ONE = 5

/** The next ticks of all schedules, earliest first. A paused schedule has none. */
export function nextTicks(schedules: readonly ApiSchedule[], most: number): Tick[] {
  const ticks = schedules.flatMap(schedule =>
    timesOf(schedule).map(at => ({ name: schedule.name, type: schedule.task.type, at })),
  )
  return ticks.sort((a, b) => a.at - b.at).slice(0, most)
}

/** The API says when the next tick is; those after it follow from the timing. */
function timesOf(schedule: ApiSchedule): number[] {
  const { paused, nextRunAt, createdAt } = schedule
  if (paused || nextRunAt === undefined) return []
  const first = Date.parse(nextRunAt)
  return [first, ...ticksAfter(schedule, Date.parse(createdAt), first)].slice(0, TICKS_OF_ONE)
}

type GivenTiming = Pick<ScheduleBody, 'cron' | 'everyMs' | 'at' | 'timezone'>

/**
 * The five ticks after a time, by the rule of the system itself: a time that a clock change skips does not tick, and one that it repeats
 * ticks once. None for a timing that cannot be read.
 */
export function ticksAfter(timing: GivenTiming, createdAt: number, after: number): number[] {
  try {
    const ticks = ticksOf(timing, createdAt)
    const times: number[] = []
    for (let at = ticks?.next(after); at !== undefined && times.length < TICKS_OF_ONE; at = ticks?.next(at))
      times.push(at)
    return times
  } catch {
    // The API knows the zone; this browser may not.
    return []
  }
}

function ticksOf({ cron, everyMs, at, timezone = 'UTC' }: GivenTiming, createdAt: number): Ticks | undefined {
  if (cron !== undefined) return ticksOfTiming({ kind: 'cron', cron, timezone }, createdAt)
  if (everyMs !== undefined) return ticksOfTiming({ kind: 'every', everyMs }, createdAt)
  return at === undefined ? undefined : ticksOfTiming({ kind: 'at', at: Date.parse(at) }, createdAt)
}

/** Ticks by the reader's day, in order: such as `Monday 23 Nov`, or `Monday 23 Nov 2026` when it is in another year than now. */
export function byDay(ticks: readonly Tick[], now = Date.now()): Array<[day: string, ticks: Tick[]]> {
  const thisYear = new Date(now).getFullYear()
  return [...Map.groupBy(ticks, ({ at }) => dayOf(at, thisYear))]
}

function dayOf(at: number, thisYear: number): string {
  const year = new Date(at).getFullYear()
  return year === thisYear ? DAY.format(at) : `${DAY.format(at)} ${year}`
}

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'short' })
