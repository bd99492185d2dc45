import { type Act, CALM, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 30_000
/** Long enough to see that looks at an empty line end. */
const AFTERWARDS_MS = 60_000
/** Values of keys that are equal in more characters than the name of a limit shows. */
const USERS = [1, 2].map(nth => `a-customer-whose-name-is-longer-than-the-name-of-a-limit-${nth}`)
const SHOPS = ['s1', 's2']
const SERVED_BY = ['lambda', 'lambda', 'workers', 'http'] as const
/** Enough characters that the input is stored apart from the head. */
const LARGE = 900

/**
 * Nothing goes wrong, and no operator interferes. A few tasks of each type wait behind a limit, whose line is quiet for long times, or behind
 * none. So each request to the table, each message and each look can be counted, and no task may wait for long.
 */
export const costs: Trial = (dice, seed) => {
  const drawn = [
    dice.pick([behindPermits, behindRate]),
    dice.pick([unlimited, inOrder, behindPermits, behindRate, behindMany]),
  ]
  const all = drawn.map((draw, nth) => named(draw(dice), nth))
  return aScenario(seed, {
    trial: 'costs',
    weather: { ...CALM },
    calmAt: SPAN_MS,
    types: all.map(({ type }) => type),
    workers: all.flatMap(({ type }, nth) =>
      workersOf(type, 1, 40).map(worker => ({ ...worker, workerId: `${worker.workerId}-${nth}` })),
    ),
    steps: all
      .flatMap(quiet => publishes(dice, quiet))
      .map((step, nonce) => ({ ...step, nonce }))
      .sort((a, b) => a.at - b.at),
    afterwardsMs: AFTERWARDS_MS,
    isMetered: true,
  })
}

function named(quiet: Quiet, nth: number): Quiet {
  return { ...quiet, type: { ...quiet.type, type: `${quiet.type.type}-${nth}` } }
}

type Publish = Extract<Step, { readonly do: 'publish' }>
type Quiet = {
  readonly type: TypeSetup
  readonly count: number
  /** The longest time from one publish to the next. */
  readonly everyMs: number
  readonly acts: () => Act[]
}

function unlimited(dice: Dice): Quiet {
  return {
    type: aType(dice.pick(SERVED_BY)),
    count: dice.between(2, 9),
    everyMs: 5_000,
    acts: () =>
      dice.many(1, 2, () => ({ ms: dice.between(10, 8_000), end: dice.pick(['succeed', 'fail', 'later']) })),
  }
}

/** Most runs are long, so that nothing changes for a while. */
function behindPermits(dice: Dice): Quiet {
  return {
    type: aType(dice.pick(SERVED_BY), {
      limits: { concurrency: { max: dice.between(1, 3), ...keyed(dice, ['userId', 'shop']) } },
    }),
    count: dice.between(3, 9),
    everyMs: 8_000,
    acts: () => [{ ms: dice.pick([dice.between(50, 3_000), dice.between(10_000, 50_000)]), end: 'succeed' }],
  }
}

function behindRate(dice: Dice): Quiet {
  const perMs = dice.pick([dice.between(3, 9), dice.between(20, 90)]) * 1_000
  return {
    type: aType(dice.pick(SERVED_BY), {
      limits: { rate: { limit: dice.between(1, 3), perMs, ...keyed(dice, ['userId']) } },
    }),
    count: dice.between(3, 8),
    everyMs: 4_000,
    acts: () => [{ ms: dice.between(10, 200), end: 'succeed' }],
  }
}

/** Tickets lead to the tasks, which wait in their ready place. */
function inOrder(dice: Dice): Quiet {
  const { type, ...quiet } = dice.pick([behindPermits, behindRate])(dice)
  return { ...quiet, type: { ...type, type: `ordered-${type.type}`, ordering: 'priority' } }
}

/** More permits than one shard has, and one process that takes most of them. */
function behindMany(dice: Dice): Quiet {
  return {
    type: aType('workers', { limits: { concurrency: { max: dice.between(12, 30) } } }),
    count: dice.between(30, 60),
    everyMs: dice.pick([10, 60]),
    acts: () => [{ ms: dice.between(200, 1_500), end: 'succeed' }],
  }
}

function keyed(dice: Dice, keys: readonly string[]): { readonly key?: string } {
  return dice.odds(0.5) ? { key: dice.pick(keys) } : {}
}

function publishes(dice: Dice, { type, count, everyMs, acts }: Quiet): Publish[] {
  let at = 100
  return Array.from({ length: count }, (_, nth) => {
    at += dice.between(0, everyMs)
    return {
      do: 'publish',
      at,
      nonce: nth,
      request: {
        type: type.type,
        key: `k${nth}`,
        userId: dice.pick(USERS),
        options: { retry: { maxRetries: 2, delayMs: 2_000 } },
      },
      acts: acts(),
      padding: dice.odds(0.5) ? LARGE : 0,
      shop: dice.pick(SHOPS),
    }
  })
}
