import { CALM, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 20_000

const UNCLAIMABLE = 30

/**
 * All messages are lost for more open tasks than one round of the sweeper reads. The oldest tasks over HTTP wait for a worker that
 * does not exist, so they are due in every round.
 */
export const backlog: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'http', 'workers'] as const))
  return aScenario(seed, {
    trial: 'backlog',
    weather: { ...CALM, messageLost: 1, streamGap: dice.pick([0, 0.5]) },
    calmAt: SPAN_MS + 1_000,
    types: [type],
    workers: workersOf(type, 1, 10),
    conditions: { pageMax: dice.between(4, 10), sweptAtOnce: dice.between(20, UNCLAIMABLE), executors: 50 },
    steps: publishes(dice, type),
  })
}

function publishes(dice: Dice, { type, servedBy }: TypeSetup): Step[] {
  return dice.many(80, 160, nonce => ({
    do: 'publish',
    at: 500 + Math.floor((nonce * SPAN_MS) / 200),
    nonce,
    request: {
      type,
      key: `k${nonce}`,
      ...(dice.odds(0.3) && { delayMs: dice.between(1, 30_000) }),
      ...(servedBy === 'http' && nonce < UNCLAIMABLE && { options: { minWorkerVersion: '9.0' } }),
    },
    acts: [],
    padding: 0,
  }))
}
