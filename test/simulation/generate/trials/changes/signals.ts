import type { Act, OddNumber, Step, TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 10_000
const ODD: readonly OddNumber[] = ['NaN', 'Infinity', '-Infinity', '-5', '1e300', '9007199254740991']
const ENDS = ['later', 'release', 'next'] as const

/** Handlers ask for delays that are not numbers, or are far too large. */
export const signals: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers'] as const))
  return aScenario(seed, {
    trial: 'signals',
    calmAt: SPAN_MS,
    types: [type],
    workers: workersOf(type, 1, 4),
    steps: publishes(dice, type),
  })
}

function publishes(dice: Dice, { type }: TypeSetup): Step[] {
  return dice
    .many(2, 6, nonce => ({
      do: 'publish' as const,
      at: dice.between(100, SPAN_MS),
      nonce,
      request: { type, key: `k${nonce}`, options: { leaseMs: 3_000, heartbeatMs: 1_000 } },
      acts: [odd(dice)],
      padding: 0,
    }))
    .sort((a, b) => a.at - b.at)
}

function odd(dice: Dice): Act {
  return { ms: dice.between(1, 500), end: dice.pick(ENDS), delay: dice.pick(ODD) }
}
