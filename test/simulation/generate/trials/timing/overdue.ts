import type { PartialOptions } from '../../../../../shared/core/options.ts'
import { type Act, CALM, type Job, type Scenario, type Step } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial } from '../trial.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const CALLBACK_NONCE = 100
const WORK = 'by-lambda'
const ALARM = 'alarm'

/**
 * Tasks wait for a retry that is due days later. Long before that their deadline passes, a second run of them
 * dies, or a callback that they owe becomes possible. Messages are lost at first.
 */
export const overdue: Trial = (dice, seed) => {
  const about = dice.pick([passedDeadlines, deadRuns, owedCallbacks])
  return aScenario(seed, {
    trial: 'overdue',
    settlingMs: 7 * HOUR_MS,
    types: [aType('lambda', { type: WORK, shards: dice.between(1, 2) }), aType('lambda', { type: ALARM })],
    ...about(dice),
  })
}

type Content = Pick<Scenario, 'weather' | 'calmAt' | 'steps'>

function lossy(dice: Dice) {
  return { ...CALM, messageLost: dice.pick([0.2, 0.5]) }
}

/** Each deadline passes long before the retry. It lies within the reach of an SQS delay, or further ahead. */
function passedDeadlines(dice: Dice): Content {
  const deadlineMs = dice.odds(0.6) ? dice.between(1, 14) * MINUTE_MS : dice.between(16, 50) * MINUTE_MS
  return {
    weather: lossy(dice),
    // The storm ends before the deadline, or just after the message about it was sent or received.
    calmAt: dice.odds(0.5)
      ? dice.between(10_000, MINUTE_MS)
      : dice.between(deadlineMs - MINUTE_MS, deadlineMs + 20_000),
    steps: dice.many(2, 6, nonce =>
      publish(nonce, dice.between(100, 5_000), { deadlineMs, retry: farRetry(dice) }, [aFailure(dice)], {
        ...(dice.odds(0.6) && { onError: [alarm(nonce)] }),
      }),
    ),
  }
}

/** Two workers run each task. The failure of one makes the task due days later, and the other one dies. */
function deadRuns(dice: Dice): Content {
  return {
    weather: lossy(dice),
    calmAt: dice.between(10_000, MINUTE_MS),
    steps: dice.many(2, 6, nonce =>
      publish(
        nonce,
        dice.between(100, 5_000),
        { concurrency: 2, retry: farRetry(dice), leaseMs: dice.between(2_000, 20_000), heartbeatMs: 1_000 },
        [aFailure(dice), { ms: dice.between(1_000, 20_000), end: 'crash' }],
      ),
    ),
  }
}

/** The type of a callback is deployed so that the callback is impossible, and is mended after it is owed. */
function owedCallbacks(dice: Dice): Content {
  const deadlineMs = dice.between(1, 5) * MINUTE_MS
  const mendedAt = deadlineMs + dice.between(1, 10) * MINUTE_MS
  const deploy = (at: number, defaults: PartialOptions): Step => ({
    do: 'deploy',
    at,
    type: ALARM,
    kind: 'handler',
    defaults,
    shards: 1,
  })
  return {
    weather: { ...CALM },
    calmAt: mendedAt,
    steps: [
      ...dice.many(1, 4, nonce =>
        publish(nonce, dice.between(500, 5_000), { deadlineMs, retry: farRetry(dice) }, [aFailure(dice)], {
          onError: [{ ...alarm(nonce), options: { workerIds: ['w1'] } }],
        }),
      ),
      // One worker is listed, and two are wanted.
      deploy(MINUTE_MS / 2, { concurrency: 2 }),
      deploy(mendedAt, {}),
    ],
  }
}

function farRetry(dice: Dice) {
  const delayMs = dice.pick([6 * HOUR_MS, 2 * DAY_MS, 10 * DAY_MS]) + dice.between(0, MINUTE_MS)
  return { maxRetries: 3, backoff: 'fixed' as const, delayMs, maxDelayMs: delayMs }
}

function aFailure(dice: Dice): Act {
  return { ms: dice.between(10, 800), end: 'fail' }
}

function alarm(nonce: number): Job {
  return { type: ALARM, nonce: CALLBACK_NONCE + nonce, acts: [], padding: 0 }
}

function publish(
  nonce: number,
  at: number,
  options: PartialOptions,
  acts: readonly Act[],
  callbacks: { readonly onError?: readonly Job[] } = {},
): Step {
  return {
    do: 'publish',
    at,
    nonce,
    request: { type: WORK, key: `k${nonce}`, options },
    acts,
    padding: 0,
    ...callbacks,
  }
}
