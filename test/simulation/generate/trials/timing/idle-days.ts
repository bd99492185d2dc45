import type { Step } from '../../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const HOUR_MS = 3_600_000

/** For days no worker receives the messages of waiting tasks. */
export const idleDays: Trial = (dice, seed) => {
  const type = aType('workers')
  // A process that lives on knows how long it has swept. Only after four days have all messages been deleted.
  const isLong = dice.odds(0.4)
  const backAt = (isLong ? dice.between(98, 102) : dice.between(12, 26)) * HOUR_MS
  return aScenario(seed, {
    trial: 'idle-days',
    conditions: isLong ? { invocations: 10_000 } : {},
    calmAt: backAt,
    types: [type],
    workers: workersOf(type, 1, 4).map(worker => ({ ...worker, startsAt: backAt })),
    steps: dice
      .many(
        2,
        6,
        (nonce): Step => ({
          do: 'publish',
          at: dice.between(100, HOUR_MS),
          nonce,
          request: {
            type: type.type,
            key: `k${nonce}`,
            ...(dice.odds(0.3) && { delayMs: dice.between(1, HOUR_MS) }),
          },
          acts: [],
          padding: 0,
        }),
      )
      .sort((a, b) => a.at - b.at),
  })
}
