import { type Act, CALM, type ServedBy, type Step, type TypeSetup, type Weather } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 40_000

/** What goes wrong while tasks wait for permits. */
type Trouble = {
  readonly servedBy: readonly ServedBy[]
  readonly weather: Weather
  /** How long the runs take. */
  readonly busyMs: number
  readonly stormMs?: number
  /** The most permits. @default 2 */
  readonly most?: number
}

/**
 * More tasks than permits. In calm weather runs fail and are released, so permits are given back in every way. Otherwise claims take
 * longer than a permit stays without its run, processes die, or the messages of the limit are lost.
 */
export const permits: Trial = (dice, seed) => {
  const { servedBy, weather, busyMs, stormMs = 20_000, most = 2 } = trouble(dice)
  const concurrency = { max: dice.between(1, most), ...(dice.odds(0.2) && { key: 'userId' }) }
  const type = aType(dice.pick(servedBy), { limits: { concurrency } })
  return aScenario(seed, {
    trial: 'permits',
    weather,
    calmAt: SPAN_MS + stormMs,
    types: [type],
    workers: workersOf(type, 3, 2),
    steps: tasks(dice, type, busyMs),
  })
}

function trouble(dice: Dice): Trouble {
  const slowClaims = (): Trouble => ({
    servedBy: ['lambda'],
    weather: { ...CALM, freeze: dice.pick([0.04, 0.08]) },
    busyMs: 1_500,
    stormMs: 160_000,
  })
  return dice.pick<() => Trouble>([
    () => ({ servedBy: ['lambda', 'workers', 'http'], weather: { ...CALM }, busyMs: 2_000 }),
    slowClaims,
    slowClaims,
    slowClaims,
    // Processes die, some of them between taking a permit and writing the claim.
    () => ({
      servedBy: ['lambda', 'workers', 'http'],
      weather: { ...CALM, death: dice.pick([0.03, 0.06]) },
      busyMs: 1_500,
      most: 1,
    }),
    // The sweeper sends the dispatches. All messages of the limit are lost, as it learns of its changes from the stream alone.
    () => ({
      servedBy: ['lambda'],
      weather: { ...CALM, streamGap: 1 },
      busyMs: 30_000,
      stormMs: 200_000,
    }),
  ])()
}

function tasks(dice: Dice, { type }: TypeSetup, busyMs: number): Step[] {
  return dice.many(8, 20, nonce => ({
    do: 'publish' as const,
    at: dice.between(100, SPAN_MS),
    nonce,
    request: {
      type,
      key: `k${nonce}`,
      ...(dice.odds(0.5) && { userId: dice.pick(['u1', 'u2']) }),
      options: {
        leaseMs: dice.between(6_000, 15_000),
        heartbeatMs: 1_500,
        retry: { maxRetries: 2, delayMs: dice.between(200, 3_000) },
      },
    },
    acts: dice.many(1, 3, () => anAct(dice, busyMs)),
    padding: 0,
  }))
}

function anAct(dice: Dice, busyMs: number): Act {
  const end = dice.pick(['succeed', 'succeed', 'fail', 'fatal', 'later', 'release'] as const)
  return { ms: dice.between(1, busyMs), end }
}
