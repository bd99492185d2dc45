import { ODD_RESULTS, type OddResultName } from '../../odd-results.ts'
import { CALM } from '../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SPAN_MS = 5_000
const NAMES = Object.keys(ODD_RESULTS) as OddResultName[]

/** Handlers return whatever code returns: values that JSON changes, values that it cannot hold, and values of the largest size. */
export const oddResults: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers'] as const))
  return aScenario(seed, {
    trial: 'odd-results',
    weather: { ...CALM },
    calmAt: SPAN_MS,
    types: [type],
    workers: workersOf(type, 1, 3),
    steps: dice
      .many(4, 8, nonce => ({
        do: 'publish' as const,
        at: dice.between(100, SPAN_MS),
        nonce,
        request: { type: type.type, key: `k${nonce}` },
        acts: [{ ms: dice.between(1, 50), end: 'succeed' as const, gives: dice.pick(NAMES) }],
        padding: 0,
      }))
      .sort((a, b) => a.at - b.at),
    hasReaders: true,
  })
}
