import { monotonicUlids } from '../../core/values/text.ts'
import type { Chance } from '../../ports/machine.ts'

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 16

/** Randomness from a seed: the same calls give the same values. */
export function createSeededChance(seed: number): Chance {
  let state = seed >>> 0
  /** The generator Mulberry32. */
  const fraction = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const randomCharacter = () => ALPHABET.charAt(Math.floor(fraction() * ALPHABET.length))
  return {
    fraction,
    ulid: monotonicUlids(
      now => timeText(now) + Array.from({ length: RANDOM_CHARACTERS }, randomCharacter).join(''),
    ),
  }
}

function timeText(now: number): string {
  let rest = now
  let text = ''
  for (let i = 0; i < TIME_CHARACTERS; i++) {
    text = ALPHABET.charAt(rest % ALPHABET.length) + text
    rest = Math.floor(rest / ALPHABET.length)
  }
  return text
}
