import { CALM } from '../../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const STORM_MS = 90_000

/** Runs of many minutes with the default lease. For a while messages about them are doubled. */
export const looks: Trial = (dice, seed) => {
  const type = aType('workers', { shards: dice.between(1, 2) })
  return aScenario(seed, {
    trial: 'looks',
    weather: {
      ...CALM,
      messageDoubled: dice.pick([0.3, 0.6]),
      messageLate: dice.pick([0, 0.3, 0.6]),
      streamAgain: dice.pick([0, 0.5]),
    },
    calmAt: STORM_MS,
    types: [type],
    workers: workersOf(type, 1, 3),
    conditions: { wakers: dice.pick([2, 5, 50]) },
    steps: dice.many(1, 3, nonce => ({
      do: 'publish',
      at: dice.between(100, 5_000),
      nonce,
      request: { type: type.type, key: `k${nonce}` },
      acts: [{ ms: dice.between(600_000, 900_000), end: 'succeed' }],
      padding: 0,
    })),
  })
}
