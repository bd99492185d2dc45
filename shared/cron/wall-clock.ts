/** The clocks on the walls of a time zone. A wall time is what such a clock shows, written as if it were UTC. */
export type WallClock = {
  /** The wall time at a moment. */
  at(time: number): number
  /** The first moment at which the clocks show this wall time; undefined when a clock change skips it. */
  firstTime(wall: number): number | undefined
}

const DAY_MS = 86_400_000
/** No clock change moves clocks further than this. A whole date that a zone leaves out does not count as a clock change. */
export const CLOCK_CHANGE_MS_MAX = 4 * 3_600_000

/** @throws RangeError when there is no such time zone. */
export function createWallClock(timezone: string): WallClock {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const at = (time: number) => wallTime(format, time)
  return {
    at,
    firstTime: wall => {
      const offsets = [wall - DAY_MS, wall + DAY_MS].map(time => at(time) - time)
      const times = offsets.map(offset => wall - offset).filter(time => at(time) === wall)
      return times.length > 0 ? Math.min(...times) : undefined
    },
  }
}

/** Whether this is the name of a time zone; an offset from UTC is not. */
export function isTimezone(name: string): boolean {
  if (/^[+-]/.test(name)) return false
  try {
    return new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}

function wallTime(format: Intl.DateTimeFormat, time: number): number {
  const parts = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]))
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts
  const milliseconds = ((time % 1_000) + 1_000) % 1_000
  return Date.UTC(year, month - 1, day, hour, minute, second) + milliseconds
}
