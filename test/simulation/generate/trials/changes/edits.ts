import { CALM, type Step } from '../../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 15_000

/** Editors change tasks that they have read some time before, unless another editor was faster (`ifRevision`). */
export const edits: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'http'] as const))
  const publishes = dice.many(
    2,
    4,
    (nth): Step => ({
      do: 'publish',
      at: dice.between(100, 1_000),
      nonce: nth + 1,
      request: { type: type.type, key: `k${nth + 1}`, delayMs: dice.between(1_000, SPAN_MS) },
      acts: dice.many(0, 2, () => ({
        ms: dice.between(1, 3_000),
        end: dice.pick(['fail', 'succeed'] as const),
      })),
      padding: 0,
    }),
  )
  const changes = dice.many(
    6,
    14,
    (): Step => ({
      do: 'edit',
      at: dice.between(1_000, SPAN_MS),
      id: `${type.type}:k${dice.between(1, publishes.length)}`,
      afterMs: dice.between(0, 4_000),
      priority: dice.between(-5, 5),
    }),
  )
  return aScenario(seed, {
    trial: 'edits',
    weather: { ...CALM, answerLost: dice.pick([0, 0.05]), refused: dice.pick([0, 0.05]) },
    calmAt: SPAN_MS + 5_000,
    types: [type],
    workers: workersOf(type, 2, 2),
    steps: [...publishes, ...changes].sort((a, b) => a.at - b.at),
  })
}
