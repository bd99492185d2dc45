import { CALM, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 180_000

/** Tasks are retained for seconds, then their heads are deleted, and their keys are published again. */
export const expiry: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'http'] as const), { shards: dice.between(1, 2) })
  return aScenario(seed, {
    trial: 'expiry',
    weather: {
      ...CALM,
      messageDoubled: dice.pick([0, 0.3]),
      messageLate: dice.pick([0, 0.3]),
      streamAgain: dice.pick([0, 0.4]),
      staleIndex: dice.pick([0, 0.3]),
      answerLost: dice.pick([0, 0, 0.05]),
    },
    calmAt: SPAN_MS + 80_000,
    types: [type],
    workers: workersOf(type, 2, 2),
    conditions: { ttlLagMs: dice.pick([1, 3_000, 30_000]) },
    steps: publishes(dice, type),
  })
}

function publishes(dice: Dice, { type }: TypeSetup): Step[] {
  return dice
    .many(10, 30, nonce => ({
      do: 'publish' as const,
      at: dice.between(100, SPAN_MS),
      nonce,
      request: {
        type,
        key: `k${dice.between(1, 4)}`,
        // Baton deletes no head within a minute of its publication, because new fences would not be larger than
        // its own. So most tasks are delayed by about a minute.
        ...(dice.odds(0.7) && { delayMs: dice.between(55_000, 75_000) }),
        ...(dice.odds(0.3) && { ifExists: dice.pick(['update', 'reject', 'restart'] as const) }),
        options: {
          leaseMs: dice.between(2_000, 5_000),
          heartbeatMs: 500,
          retry: { maxRetries: dice.between(0, 2), delayMs: 200 },
          retentionMs: dice.between(1_000, 8_000),
        },
      },
      acts: dice.many(0, 2, () => ({
        ms: dice.between(1, 1_500),
        end: dice.pick(['fail', 'crash', 'succeed'] as const),
      })),
      padding: dice.odds(0.4) ? 300 : 0,
    }))
    .sort((a, b) => a.at - b.at)
}
