import { Cron } from 'croner'
import type { ApiSchedule } from '../../shared/api/schedules.ts'

/** A tick to come. */
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
function timesOf({ paused, nextRunAt, cron, timezone = 'UTC', everyMs }: ApiSchedule): number[] {
  if (paused || nextRunAt === undefined) return []
  const first = Date.parse(nextRunAt)
  if (everyMs !== undefined) return Array.from({ length: TICKS_OF_ONE }, (_, nth) => first + nth * everyMs)
  return cron === undefined ? [first] : [first, ...laterTicks(cron, timezone, first)]
}

function laterTicks(cron: string, timezone: string, first: number): number[] {
  try {
    const pattern = new Cron(cron, { mode: '5-or-6-parts', timezone, paused: true })
    return pattern.nextRuns(TICKS_OF_ONE - 1, new Date(first)).map(date => date.getTime())
  } catch {
    // The API knows the zone; this browser may not.
    return []
  }
}

/** Ticks by the reader's day, such as `Mon 23 Nov`, in order. */
export function byDay(ticks: readonly Tick[]): Array<readonly [day: string, ticks: readonly Tick[]]> {
  return [...Map.groupBy(ticks, ({ at }) => DAY.format(at))]
}

const DAY = new Intl.DateTimeFormat('en-GB', { weekday: 'long', day: 'numeric', month: 'short' })
