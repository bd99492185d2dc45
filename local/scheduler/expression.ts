import { Cron } from 'croner'

/** When a schedule fires: once, at an interval, or by a calendar. */
export type Timing =
  | { readonly kind: 'once'; readonly at: number }
  | { readonly kind: 'rate'; readonly everyMs: number }
  | { readonly kind: 'calendar'; readonly cron: Cron }

const unitMs: Record<string, number> = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }

/** Reads `at(…)`, `rate(…)` or `cron(…)`; `undefined` for any other text. Wall-clock times are in `timezone`. */
export function readExpression(expression: string, timezone = 'UTC'): Timing | undefined {
  const [, kind, content] = /^(at|rate|cron)\((.+)\)$/.exec(expression) ?? []
  if (content === undefined) return undefined
  if (kind === 'at') return readOnce(content, timezone)
  if (kind === 'rate') return readRate(content)
  return readCalendar(content, timezone)
}

function readOnce(content: string, timezone: string): Timing | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/.test(content)) return undefined
  const at = tried(() => wallClock(content, timezone))
  return at === undefined || Number.isNaN(at) ? undefined : { kind: 'once', at }
}

/** The Unix time of a wall-clock time in a zone. The offset is taken at a first guess, then again at the corrected time. */
function wallClock(text: string, timezone: string): number {
  const asUtc = Date.parse(`${text}Z`)
  const guess = asUtc - offsetAt(asUtc, timezone)
  return asUtc - offsetAt(guess, timezone)
}

function offsetAt(time: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  }).formatToParts(time)
  const of = (type: string) => parts.find(part => part.type === type)?.value ?? '00'
  const shown = Date.parse(
    `${of('year')}-${of('month')}-${of('day')}T${of('hour')}:${of('minute')}:${of('second')}Z`,
  )
  return shown - Math.floor(time / 1000) * 1000
}

function readRate(content: string): Timing | undefined {
  const [, count, unit = ''] = /^([1-9]\d*) (minute|hour|day)s?$/.exec(content) ?? []
  const ms = unitMs[unit]
  return count === undefined || ms === undefined ? undefined : { kind: 'rate', everyMs: Number(count) * ms }
}

/** Six fields: minutes hours day-of-month month day-of-week year, and one of the day fields must be `?`. */
function readCalendar(content: string, timezone: string): Timing | undefined {
  const [minutes, hours, days, months, weekdays, years, ...rest] = content.trim().split(/\s+/)
  if (years === undefined || rest.length > 0 || weekdays === undefined) return undefined
  if ((days === '?') === (weekdays === '?')) return undefined
  const pattern = ['0', minutes, hours, anyDay(days), months, anyDay(fromSundayZero(weekdays)), years].join(
    ' ',
  )
  const cron = tried(() => new Cron(pattern, { timezone, mode: '7-part', sloppyRanges: true, paused: true }))
  return cron && { kind: 'calendar', cron }
}

const anyDay = (field = '*') => (field === '?' ? '*' : field)

// AWS counts weekdays from Sunday = 1, croner from Sunday = 0; the number after `#` counts weeks.
const fromSundayZero = (field: string) => field.replace(/(?<![#\d/])\d/g, digit => String(Number(digit) - 1))

/** The first time strictly after `after`; `undefined` if there is none. A rate counts from `begin`. */
export function nextFiring(timing: Timing, begin: number, after: number): number | undefined {
  switch (timing.kind) {
    case 'once':
      return timing.at > after ? timing.at : undefined
    case 'rate':
      return begin + (Math.floor(Math.max(0, after - begin) / timing.everyMs) + 1) * timing.everyMs
    case 'calendar':
      return timing.cron.nextRun(new Date(after))?.getTime()
  }
}

function tried<T>(attempt: () => T): T | undefined {
  try {
    return attempt()
  } catch {
    return undefined
  }
}
