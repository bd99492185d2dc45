import { type Act, CALM, type Step, type TypeSetup, type WorkerSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 20_000
const MINUTE_MS = 60_000

/** Several workers run each task, and each has retries of its own. Some handlers ask for delays of many minutes. */
export const ownRetries: Trial = (dice, seed) => {
  const type = aType(dice.pick(['workers', 'workers', 'http'] as const), {
    ...(dice.odds(0.3) && { ordering: 'priority' as const }),
  })
  const workers = workersOf(type, dice.between(2, 4), 3)
  return aScenario(seed, {
    trial: 'own-retries',
    weather: dice.odds(0.6) ? { ...CALM } : { ...CALM, messageLost: 0.2, answerLost: 0.05, skewMs: 500 },
    calmAt: SPAN_MS + MINUTE_MS,
    settlingMs: 120 * MINUTE_MS,
    types: [type],
    workers,
    steps: dice.many(2, 5, nonce => publish(dice, type, workers, nonce)).sort((a, b) => a.at - b.at),
  })
}

function publish(dice: Dice, { type }: TypeSetup, workers: readonly WorkerSetup[], nonce: number): Step {
  const concurrency = dice.between(1, workers.length)
  const isListed = concurrency === 1 || dice.odds(0.4)
  const listed = workers.slice(0, dice.between(concurrency, workers.length))
  return {
    do: 'publish',
    at: dice.between(100, SPAN_MS),
    nonce,
    request: {
      type,
      key: `k${nonce}`,
      options: {
        concurrency,
        leaseMs: dice.between(2_000, 6_000),
        heartbeatMs: 600,
        retry: { scope: 'worker', maxRetries: 4, delayMs: dice.between(100, 5_000) },
        ...(isListed && { workerIds: listed.map(({ workerId }) => workerId) }),
      },
    },
    acts: dice.many(2, 6, () => act(dice)),
    padding: 0,
  }
}

function act(dice: Dice): Act {
  const end = dice.pick(['succeed', 'fail', 'later', 'later', 'release', 'crash'] as const)
  const laterMs = dice.odds(0.3) ? dice.between(1, 20) * MINUTE_MS : dice.between(1_000, 20_000)
  return { ms: dice.between(1, 2_000), end, ...(end === 'later' && { laterMs }) }
}
