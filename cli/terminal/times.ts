import { InvalidArgumentError } from 'commander'

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  s: SECOND_MS,
  m: MINUTE_MS,
  min: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
}

/** Reads a duration such as `500ms`, `30s`, `5m`, `2h`, `7d` or `1w`. Returns milliseconds. */
export function duration(text: string): number {
  const ms = durationIn(text)
  if (ms !== undefined) return ms
  throw new InvalidArgumentError('Give a duration such as 500ms, 30s, 5m, 2h or 7d.')
}

/** Reads a time: a duration counts back from `now`, and anything else is a date. Returns ISO 8601 in UTC. */
export function timeBefore(now: number): (text: string) => string {
  return text => {
    const ms = durationIn(text)
    const at = ms === undefined ? Date.parse(text) : now - ms
    const date = new Date(at)
    if (!Number.isNaN(date.getTime())) return date.toISOString()
    throw new InvalidArgumentError(
      'Give a time such as 2026-11-23T10:00Z, or a duration before now such as 2h.',
    )
  }
}

function durationIn(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|min|m|h|d|w)$/.exec(text.trim()) ?? []
  const ms = UNITS[unit]
  return number === undefined || ms === undefined ? undefined : Math.round(Number(number) * ms)
}

/** Returns the time in relation to now: `3 min ago`, `in 2 h`. A dash stands for no time. */
export function relativeTime(at: string | undefined, now: number): string {
  const ms = Date.parse(at ?? '') - now
  if (Number.isNaN(ms)) return '-'
  if (Math.abs(ms) < SECOND_MS) return 'now'
  return ms < 0 ? `${durationText(-ms)} ago` : `in ${durationText(ms)}`
}

const SHOWN_UNITS: ReadonlyArray<readonly [number, string]> = [
  [DAY_MS, 'd'],
  [HOUR_MS, 'h'],
  [MINUTE_MS, 'min'],
  [SECOND_MS, 's'],
]

/** Returns a duration in its largest fitting unit, with one digit after the point below ten: `1.5 h`, `12 s`, `80 ms`. */
export function durationText(ms: number): string {
  const [size, unit] = SHOWN_UNITS.find(([size]) => ms >= size) ?? [1, 'ms']
  const count = ms / size
  const isShort = count < 9.95 && unit !== 'ms'
  return `${isShort ? Number(count.toFixed(1)) : Math.round(count)} ${unit}`
}

/** The time of day on the user's clock. */
export function clockText(at: number): string {
  return new Date(at).toTimeString().slice(0, 8)
}
