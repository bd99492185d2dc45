/** FNV-1a, 32 bit, over the UTF-16 code units of `text`: spreads ids over shards and shortens names. Not for secrets. */
export function hash32(text: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i)
    hash = Math.imul(hash, 0x01000193)
  }
  return hash >>> 0
}

/** A digest of 32 bits for each salt. */
export function digestOf(text: string, salts: readonly string[]): string {
  return salts.map(salt => hash32(`${salt}${text}`).toString(36)).join('')
}

/** Whether a text can be a name. A name has no control character, which logs do not show, and no half of a surrogate pair. */
export function isName(text: string, maxCharacters: number): boolean {
  // Characters are code points here. Each has at most two code units.
  const isLong = text.length > 2 * maxCharacters || [...text].length > maxCharacters
  return text.length > 0 && !isLong && text.isWellFormed() && !/\p{Cc}/u.test(text)
}

/** Digits of a number as text. Numbers from -10^15 to 10^15 fit; `orderNumber` replaces others by the nearer bound. */
const ORDER_DIGITS = 16
const ORDER_OFFSET = 10 ** 15

/** The number, rounded, as a text that sorts as the number does. */
export function orderNumber(value: number): string {
  const bounded = Math.min(Math.max(Math.round(value), -ORDER_OFFSET), ORDER_OFFSET)
  return String(bounded + ORDER_OFFSET).padStart(ORDER_DIGITS, '0')
}

/** The pattern of a W3C trace context header. Its group is the id of the trace. */
export const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10

/**
 * Makes ULIDs that sort in the order in which they are made, also within one millisecond. When two have the
 * same time, the later one is the earlier one plus one. `fresh` makes a ULID whose time part is `now`.
 */
export function monotonicUlids(fresh: (now: number) => string): (now: number) => string {
  let last = ''
  return now => {
    const made = fresh(now)
    const isSameTime = made.slice(0, TIME_CHARACTERS) === last.slice(0, TIME_CHARACTERS)
    last = isSameTime ? (incremented(last) ?? made) : made
    return last
  }
}

/** The ULID plus one; undefined when its random part is the largest. */
function incremented(ulid: string): string | undefined {
  for (let at = ulid.length - 1; at >= TIME_CHARACTERS; at--) {
    const digit = ALPHABET.indexOf(ulid.charAt(at)) + 1
    if (digit === ALPHABET.length) continue
    return ulid.slice(0, at) + ALPHABET.charAt(digit) + '0'.repeat(ulid.length - 1 - at)
  }
  return undefined
}
