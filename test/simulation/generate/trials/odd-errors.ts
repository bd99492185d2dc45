import { ODD_ERRORS, type OddErrorName } from '../../odd-errors.ts'
import { type Act, CALM, type Step, type TypeSetup } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SPAN_MS = 5_000
/** When each task is read again: the records of its runs are stored. */
const READ_AT_MS = 30_000
const NAMES = Object.keys(ODD_ERRORS) as OddErrorName[]

/** Handlers throw whatever code throws, and log secrets. Some tasks fail for good. */
export const oddErrors: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers'] as const))
  return aScenario(seed, {
    trial: 'odd-errors',
    // In bad weather the full record of a failed run may be lost, which no promise forbids.
    weather: { ...CALM },
    calmAt: SPAN_MS,
    // The record of each failed run is an item of its own.
    conditions: { pageMax: 1 + (seed % 3) },
    types: [type],
    workers: workersOf(type, 1, 3),
    steps: publishesAndReads(dice, type),
    hasReaders: true,
  })
}

function publishesAndReads(dice: Dice, { type }: TypeSetup): Step[] {
  const tasks = dice.many(3, 6, nonce => {
    const acts = dice.many(1, 4, () => anAct(dice))
    const publish: Step = {
      do: 'publish',
      at: dice.between(100, SPAN_MS),
      nonce,
      request: {
        type,
        key: `k${nonce}`,
        options: { retry: { maxRetries: acts.length - dice.between(0, 1), delayMs: 100 } },
      },
      acts,
      padding: 0,
      secret: String(dice.between(100_000_000, 999_999_999)),
    }
    return [publish, { do: 'ask', at: READ_AT_MS, operation: 'get', id: `${type}:k${nonce}` } satisfies Step]
  })
  return tasks.flat()
}

function anAct(dice: Dice): Act {
  return { ms: dice.between(1, 100), end: 'fail', odd: dice.pick(NAMES) }
}
