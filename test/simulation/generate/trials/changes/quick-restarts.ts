import type { Act, Step, TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 10_000

/** Tasks are claimed several times a second, so that their fences outrun the clock, and are restarted at once. */
export const quickRestarts: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers'] as const))
  return aScenario(seed, {
    trial: 'quick-restarts',
    calmAt: SPAN_MS,
    types: [type],
    workers: workersOf(type, 2, 2),
    steps: dice
      .many(2, 4, nth => task(dice, type, nth + 1))
      .flat()
      .sort((a, b) => a.at - b.at),
  })
}

function task(dice: Dice, { type }: TypeSetup, nonce: number): Step[] {
  const at = dice.between(100, 3_000)
  const key = `k${nonce}`
  const restart = (afterMs: number): Step => ({
    do: 'restart',
    at: at + afterMs,
    id: `${type}:${key}`,
    clean: ['failed', 'succeeded'],
  })
  return [
    {
      do: 'publish',
      at,
      nonce,
      request: {
        type,
        key,
        options: { retry: { maxRetries: 10, backoff: 'fixed', delayMs: dice.between(0, 20) } },
      },
      acts: [...dice.many(4, 9, () => anAct(dice)), { ms: 1, end: 'fatal' }],
      padding: 0,
    },
    ...dice.many(2, 5, () => restart(dice.between(500, SPAN_MS))),
  ]
}

function anAct(dice: Dice): Act {
  return { ms: dice.between(1, 20), end: dice.pick(['fail', 'release', 'release'] as const) }
}
