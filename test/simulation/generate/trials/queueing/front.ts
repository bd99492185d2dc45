import type { Step } from '../../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

/** A call for tasks examines at most this many candidates. */
const EXAMINED_MAX = 1_000
const CLAIMABLE = 3
const PUBLISHED_BY_MS = 10_000

/** More tasks than one call examines are at the front of a type, and no present worker is new enough for them. */
export const front: Trial = (dice, seed) => {
  const type = aType('http', { shards: dice.between(1, 2) })
  const count = EXAMINED_MAX + dice.between(1, 60)
  const steps = Array.from({ length: count + CLAIMABLE }, (_, nonce): Step => {
    const isClaimable = nonce >= count
    return {
      do: 'publish',
      at: isClaimable ? PUBLISHED_BY_MS + nonce : 500 + nonce * 4,
      nonce,
      request: {
        type: type.type,
        key: `k${nonce}`,
        ...(!isClaimable && { options: { minWorkerVersion: '9.0' } }),
      },
      acts: [],
      padding: 0,
    }
  })
  return aScenario(seed, {
    trial: 'front',
    calmAt: 2 * PUBLISHED_BY_MS,
    types: [type],
    workers: workersOf(type, 1, dice.between(1, 3)).map(worker => ({ ...worker, version: '1.0' })),
    steps,
  })
}
