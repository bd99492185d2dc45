import { INEXACT } from '../../shared/core/values/json.ts'

/** At least 16 digits in a row, perhaps with a point among them. Fewer digits are always kept exactly. */
const MANY_DIGITS = /\d[\d.]{15}/

/**
 * Parses JSON text. A number beyond 2^53 whose digits would change, such as 9007199254740993, becomes `INEXACT`, which every
 * rule refuses. 6.02e23 and 1e300 keep their digits and are returned as they are.
 *
 * @throws SyntaxError for a text that is not JSON.
 */
export function parseExactly(text: string): unknown {
  return MANY_DIGITS.test(text) ? JSON.parse(text, exactOrMarked) : JSON.parse(text)
}

function exactOrMarked(
  _name: string,
  value: unknown,
  { source }: { readonly source?: string } = {},
): unknown {
  if (typeof value !== 'number' || source === undefined || Math.abs(value) <= Number.MAX_SAFE_INTEGER)
    return value
  return digitsOf(source) === digitsOf(String(value)) ? value : INEXACT
}

/** Returns the digits of a number without leading and trailing zeros, and the position of its point. */
function digitsOf(text: string): string {
  const [, whole = '', fraction = '', exponent = '0'] =
    /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const digits = whole + fraction
  const significant = digits.replace(/^0+/, '')
  const pointAt = significant.length - fraction.length + Number(exponent)
  return `${significant.replace(/0+$/, '')} ${pointAt}`
}
