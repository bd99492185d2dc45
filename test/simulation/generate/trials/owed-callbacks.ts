import { CALM, type Job, type Step, type TypeSetup } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SPAN_MS = 20_000
/** Until then all tasks that callbacks name may be running. */
const BUSY_MS = 110_000
/** Each parent's callbacks are tried again this often after `BUSY_MS`. A try may restart a task that refuses the next one. */
const RETRIES = 6
const RETRY_EVERY_MS = 20_000
/** The nonce of the one callback that may name `target-2`. Several callbacks of one key may restart its task more often. */
const ALONE = 100

/**
 * Callbacks with keys of their own name tasks that exist. Some of these are running, so the callback is refused and stays owed, even
 * after the retention of its task. Operators try again.
 */
export const owedCallbacks: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'lambda', 'workers'] as const))
  const parents = dice.between(1, 3)
  return aScenario(seed, {
    trial: 'owed-callbacks',
    weather: {
      ...CALM,
      answerLost: dice.pick([0, 0.05, 0.15]),
      refused: dice.pick([0, 0.1]),
      streamAgain: dice.pick([0, 0.3]),
      messageDoubled: dice.pick([0, 0.3]),
    },
    calmAt: BUSY_MS,
    types: [type],
    workers: workersOf(type, 2, 4),
    conditions: { ttlLagMs: dice.pick([1, 3_000]) },
    steps: [
      target(dice, type, 'target-1', 1),
      target(dice, type, 'target-2', 2),
      ...Array.from({ length: parents }, (_, nth) => parent(dice, type, nth)),
      ...Array.from({ length: parents }, (_, nth) => retries(dice, type, nth)).flat(),
    ].sort((a, b) => a.at - b.at),
  })
}

/** A task that a callback names. It often runs when the callback is published. */
function target(dice: Dice, { type }: TypeSetup, key: string, nonce: number): Step {
  const until = dice.odds(0.6) ? dice.between(70_000, BUSY_MS - 5_000) : dice.between(1_000, SPAN_MS)
  return {
    do: 'publish',
    at: dice.between(100, 2_000),
    nonce,
    request: { type, key, options: { leaseMs: 30_000, heartbeatMs: 5_000 } },
    acts: [{ ms: 100, end: dice.pick(['succeed', 'fatal'] as const), until }],
    padding: 0,
  }
}

function parent(dice: Dice, type: TypeSetup, nth: number): Step {
  const jobs = (from: number) => dice.many(1, 2, index => job(dice, type, 100 * (nth + 1) + from + index))
  return {
    do: 'publish',
    at: dice.between(2_500, SPAN_MS),
    nonce: 10 + nth,
    request: {
      type: type.type,
      key: `parent-${nth}`,
      options: { leaseMs: 4_000, heartbeatMs: 1_000, retentionMs: dice.between(1_000, 20_000) },
    },
    acts: [{ ms: dice.between(1, 500), end: dice.pick(['succeed', 'succeed', 'fatal'] as const) }],
    onSuccess: jobs(0),
    onError: jobs(50),
    padding: dice.odds(0.3) ? 300 : 0,
  }
}

function job(dice: Dice, { type }: TypeSetup, nonce: number): Job {
  const isAlone = nonce === ALONE
  const isKeyed = isAlone || dice.odds(0.8)
  return {
    type,
    nonce,
    acts: [{ ms: dice.between(1, 300), end: 'succeed' }],
    padding: 0,
    ...(isKeyed && {
      key: isAlone ? 'target-2' : dice.pick(['target-1', 'target-1', `own-${nonce}`]),
      ifExists: isAlone
        ? ('restart' as const)
        : dice.pick(['restart', 'restart', 'reject', 'keep', 'update'] as const),
    }),
  }
}

function retries(dice: Dice, { type }: TypeSetup, nth: number): Step[] {
  const id = `${type}:parent-${nth}`
  const late = Array.from({ length: RETRIES }, (_, round) => ({
    do: 'retry-callbacks' as const,
    at: BUSY_MS + round * RETRY_EVERY_MS + nth * 5_000,
    id,
  }))
  return dice.odds(0.5) ? [{ do: 'retry-callbacks', at: dice.between(SPAN_MS, BUSY_MS), id }, ...late] : late
}
