import type { ServedBy, Step } from '../../scenario.ts'
import { FAULTY_KEY_PREFIXES } from '../../world/faults.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SERVED_BY: readonly ServedBy[] = ['http', 'http', 'lambda', 'workers']
const HEALTHY = 8

/**
 * Faulty tasks are published before healthy ones. The table refuses their writes, or their heads cannot be
 * read.
 */
export const faults: Trial = (dice, seed) => {
  const type = aType(dice.pick(SERVED_BY), dice.odds(0.3) ? { limits: { concurrency: { max: 2 } } } : {})
  const kinds = Object.values(FAULTY_KEY_PREFIXES).filter(() => dice.odds(0.7))
  const faulty = (kinds.length > 0 ? kinds : [FAULTY_KEY_PREFIXES.claims]).flatMap(kind => [
    `${kind}-1`,
    `${kind}-2`,
  ])
  const keys = [...faulty, ...Array.from({ length: HEALTHY }, (_, nth) => `k${nth + 1}`)]
  const steps = keys.map(
    (key, nth): Step => ({
      do: 'publish',
      at: 1_000 + 20 * nth,
      nonce: nth + 1,
      request: { type: type.type, key, options: { retry: { maxRetries: 1, delayMs: 500 } } },
      acts: [{ ms: dice.between(10, 500), end: 'succeed' }],
      padding: 0,
    }),
  )
  return aScenario(seed, {
    trial: 'faults',
    calmAt: 10_000,
    types: [type],
    workers: workersOf(type, 2, 2),
    steps,
  })
}
