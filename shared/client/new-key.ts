const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 16

/** A new ULID: a key, or the id of a request, that no other has. */
export function newKey(): string {
  let time = Date.now()
  let text = ''
  for (let at = 0; at < TIME_CHARACTERS; at++) {
    text = ALPHABET.charAt(time % ALPHABET.length) + text
    time = Math.floor(time / ALPHABET.length)
  }
  const random = crypto.getRandomValues(new Uint8Array(RANDOM_CHARACTERS))
  return text + Array.from(random, byte => ALPHABET.charAt(byte % ALPHABET.length)).join('')
}
