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
