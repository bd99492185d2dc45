import { CALM, type Scenario, type Step, type TypeSetup, type Weather } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 20_000
const EXECUTORS = 60
/** One shard of a limit's permits has 8. */
const PERMITS = { least: 9, most: 26 } as const

/**
 * A concurrency limit of several shards holds back bursts of tasks. Its maximum changes, and processes die. Or a small limit holds back a
 * steady stream of tasks.
 */
export const manyPermits: Trial = (dice, seed) => (dice.odds(0.4) ? steady(dice, seed) : inBursts(dice, seed))

/** More tasks than may run arrive all the time. So newcomers compete with the tasks in line. */
function steady(dice: Dice, seed: number): Scenario {
  const max = dice.between(2, 3)
  const runMs = dice.between(300, 700)
  const everyMs = runMs / max / dice.pick([1.6, 2])
  const type = aType('lambda', { limits: { concurrency: { max } } })
  return aScenario(seed, {
    trial: 'many-permits',
    calmAt: SPAN_MS,
    types: [type],
    steps: Array.from({ length: Math.floor(SPAN_MS / everyMs) }, (_, nonce) => ({
      do: 'publish',
      at: 500 + Math.floor(nonce * everyMs),
      nonce,
      request: { type: type.type, key: `k${nonce}` },
      acts: [{ ms: runMs, end: 'succeed' }],
      padding: 0,
    })),
  })
}

function inBursts(dice: Dice, seed: number): Scenario {
  const type = aType(dice.pick(['lambda', 'lambda', 'lambda', 'workers'] as const), {
    limits: { concurrency: { max: permits(dice) } },
    ...(dice.odds(0.3) && { ordering: 'priority' as const }),
  })
  const weather = dice.odds(0.5) ? { ...CALM } : disturbed(dice)
  return aScenario(seed, {
    trial: 'many-permits',
    weather,
    calmAt: SPAN_MS + 20_000,
    types: [type],
    workers: workersOf(type, 4, 8),
    conditions: { executors: EXECUTORS },
    steps: [...bursts(dice, type), ...(dice.odds(0.4) ? [otherMax(dice, type)] : [])].sort(
      (a, b) => a.at - b.at,
    ),
  })
}

function permits(dice: Dice): number {
  return dice.between(PERMITS.least, PERMITS.most)
}

function disturbed(dice: Dice): Weather {
  return {
    ...CALM,
    death: dice.pick([0, 0.003]),
    freeze: dice.pick([0, 0.01]),
    messageLost: dice.pick([0, 0.03]),
    answerLost: dice.pick([0, 0.02]),
  }
}

/** Many tasks at about the same times, with runs that are longer than the time between two bursts. */
function bursts(dice: Dice, { type }: TypeSetup): Step[] {
  let nonce = 0
  return dice
    .many(2, 3, () => {
      const at = dice.between(100, SPAN_MS)
      return dice.many(20, 40, (): Step => {
        nonce += 1
        return {
          do: 'publish',
          at: at + dice.between(0, 1_000),
          nonce,
          request: {
            type,
            key: `k${nonce}`,
            priority: dice.between(0, 2),
            options: {
              leaseMs: dice.between(6_000, 12_000),
              heartbeatMs: 2_000,
              retry: { maxRetries: 3, delayMs: dice.between(200, 2_000) },
            },
          },
          acts: dice.many(0, 2, () => ({
            ms: dice.between(100, 4_000),
            end: dice.pick(['succeed', 'succeed', 'succeed', 'fail', 'release'] as const),
          })),
          padding: 0,
        }
      })
    })
    .flat()
}

function otherMax(dice: Dice, { servedBy: _servedBy, ...content }: TypeSetup): Step {
  return {
    do: 'deploy',
    at: dice.between(2_000, SPAN_MS),
    ...content,
    kind: 'handler',
    limits: { concurrency: { max: permits(dice) } },
  }
}
