import { BatonError } from '../../core/errors.ts'

/** A length of virtual time: milliseconds, or a text such as `250ms`, `30s`, `5m`, `2h`, `3d`, `1w` or `1h30m`. */
export type Duration = number | string

const UNITS_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

const PART = /(\d+(?:\.\d+)?)(ms|[smhdw])/g
const WHOLE = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/

/** The duration in whole milliseconds. @throws BatonError `invalid`, which names the caller and what is legal */
export function durationMs(caller: string, duration: Duration): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return Math.round(duration)
  if (typeof duration === 'string' && WHOLE.test(duration)) return Math.round(sumOf(duration))
  const given = typeof duration === 'string' ? `'${duration}'` : String(duration)
  throw new BatonError(
    'invalid',
    `${caller}: ${given} is not a duration; give milliseconds (0 or more), or text such as '250ms', '30s', '5m', '2h', '3d', '1w' or '1h30m'`,
  )
}

function sumOf(text: string): number {
  return [...text.matchAll(PART)].reduce(
    (sum, [, amount, unit]) => sum + Number(amount) * UNITS_MS[unit as keyof typeof UNITS_MS],
    0,
  )
}
