import { type Act, CALM, type RepeatedReport, type Step, type TypeSetup } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SPAN_MS = 10_000
const ENDS = ['succeed', 'fail', 'fatal', 'later', 'release', 'next'] as const

/**
 * HTTP workers report the end of a run more than once, with equal and with different reports. Some answers get
 * lost.
 */
export const reports: Trial = (dice, seed) => {
  const type = aType('http')
  return aScenario(seed, {
    trial: 'reports',
    weather: { ...CALM, answerLost: dice.pick([0, 0.05, 0.2]) },
    calmAt: SPAN_MS,
    types: [type],
    workers: workersOf(type, 2, 3),
    steps: publishes(dice, type),
  })
}

function publishes(dice: Dice, { type }: TypeSetup): Step[] {
  return dice
    .many(2, 5, nonce => ({
      do: 'publish' as const,
      at: dice.between(100, SPAN_MS),
      nonce,
      request: {
        type,
        key: `k${nonce}`,
        options: { leaseMs: 3_000, heartbeatMs: 1_000, retry: { maxRetries: 2, delayMs: 100 } },
      },
      acts: dice.many(1, 2, () => anAct(dice)),
      padding: 0,
    }))
    .sort((a, b) => a.at - b.at)
}

function anAct(dice: Dice): Act {
  const end = dice.pick(ENDS)
  return { ms: dice.between(1, 300), end, repeats: dice.many(1, 3, () => aRepeat(dice, end)) }
}

/** A further report: the same one, the same end with another result or error, or another end. */
function aRepeat(dice: Dice, end: Act['end']): RepeatedReport {
  return { end: dice.odds(0.6) ? end : dice.pick(ENDS), nth: dice.odds(0.5) ? 0 : 1 }
}
