/** Spans of time as a reader writes them, exact to the millisecond: `30 s`, `1 h 30 min`. */

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['min', 60_000],
  ['s', 1_000],
  ['ms', 1],
] as const

export function spanText(ms: number): string {
  let rest = ms
  const parts = UNITS.flatMap(([unit, size]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    return count === 0 ? [] : [`${count} ${unit}`]
  })
  return parts.join(' ') || '0 s'
}

/** The milliseconds of a text such as `1 h 30 min` or `1.5 s`; undefined when it is not a span. */
export function spanOf(text: string): number | undefined {
  const parts = [...text.matchAll(/\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d)\b\s*/g)]
  if (parts.length === 0 || parts.map(([whole]) => whole).join('') !== text) return undefined
  return parts.reduce((sum, [, count, unit]) => sum + Math.round(Number(count) * (SIZES[unit ?? ''] ?? 0)), 0)
}

const SIZES: Readonly<Record<string, number>> = Object.fromEntries(UNITS)
