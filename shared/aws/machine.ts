import { ulid } from 'ulid'
import { monotonicUlids } from '../core/values/ulid.ts'
import type { Chance, Clock } from '../ports/machine.ts'

/** The clock of this machine. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise(resolve => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal?.addEventListener('abort', done, { once: true })
    }),
}

/** The randomness of this machine. */
export const systemChance: Chance = { ulid: monotonicUlids(ulid), fraction: () => Math.random() }
