import { CALM, type Job, type Step } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const MINUTE_MS = 60_000
const SPAN_MS = 20_000

/**
 * No queue delivers a message for half an hour, so that due tasks show no sign of life, and some of them after a lost run. Meanwhile workers
 * over HTTP are busy for as long, and a task owes a callback that cannot be published. Callers ask why tasks wait.
 */
export const stuck: Trial = (dice, seed) => {
  const [byLambda, byHttp] = [aType('lambda'), aType('http')]
  const calmAt = dice.between(24, 34) * MINUTE_MS
  return aScenario(seed, {
    trial: 'stuck',
    weather: { ...CALM, messageLost: 1 },
    calmAt,
    settlingMs: 180 * MINUTE_MS,
    types: [byLambda, byHttp],
    workers: workersOf(byHttp, dice.between(1, 2), 2),
    // The process of the sweeper lives on, since a new one first waits before it reports a task.
    conditions: { invocations: 1_000 },
    hasReaders: true,
    steps: [
      ...dice.many(2, 4, nth => waiting(dice, byLambda.type, nth)),
      ...dice.many(1, 2, nth => waiting(dice, byHttp.type, 20 + nth)),
      ...dice.many(1, 3, nth => busy(dice, byHttp.type, 30 + nth, calmAt)),
      ...(dice.odds(0.6) ? [owing(dice, byHttp.type), ...retries(byHttp.type, calmAt)] : []),
      ...dice.many(0, 2, nth => patch(dice, byLambda.type, nth)),
    ].sort((a, b) => a.at - b.at),
  })
}

function waiting(dice: Dice, type: string, nonce: number): Step {
  return {
    do: 'publish',
    at: dice.between(2_000, SPAN_MS),
    nonce,
    request: { type, key: `k${nonce}`, ...(dice.odds(0.3) && { delayMs: dice.between(1, 3) * MINUTE_MS }) },
    acts: [],
    padding: 0,
  }
}

/** A run that lasts nearly to the end of the trial. Its lease is longer, because a lost look could not find its loss. */
function busy(dice: Dice, type: string, nonce: number, calmAt: number): Step {
  return {
    do: 'publish',
    at: dice.between(100, 1_500),
    nonce,
    request: { type, key: `k${nonce}`, options: { leaseMs: 60_000, heartbeatMs: 20_000 } },
    acts: [{ ms: 100, end: 'succeed', until: dice.between(18 * MINUTE_MS, calmAt) }],
    padding: 0,
  }
}

/** Its callback names a task that runs, so the callback is refused until that task has ended. */
function owing(dice: Dice, type: string): Step {
  const callback: Job = { type, nonce: 101, acts: [], padding: 0, key: 'k31', ifExists: 'reject' }
  return {
    do: 'publish',
    at: dice.between(2_000, 4_000),
    nonce: 40,
    request: { type, key: 'k40' },
    acts: [{ ms: dice.between(1, 300), end: 'succeed' }],
    padding: 0,
    onSuccess: [callback],
  }
}

/** Operators try the callback again once the task that it names has ended. */
function retries(type: string, calmAt: number): Step[] {
  return [5_000, 25_000, 45_000].map(afterMs => ({
    do: 'retry-callbacks',
    at: calmAt + afterMs,
    id: `${type}:k40`,
  }))
}

/** Any change by an operator is a sign of life. */
function patch(dice: Dice, type: string, nth: number): Step {
  const at = dice.between(1, 14) * MINUTE_MS
  return { at, do: 'patch', id: `${type}:k${nth}`, changes: { priority: dice.between(-3, 3) } }
}
