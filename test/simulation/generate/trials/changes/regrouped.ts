import { CALM, type Step, type TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 25_000
/** Tasks are published in bursts, so several processes ask the same limits at once. */
const BURSTS_MS = [500, 4_000, 8_000] as const
const TENANTS = ['t1', 't2'] as const
const SHOPS = ['ONE', 'TWO'] as const

/** Publishes give tasks another tenant and another input while claims of them are under way. The limits of the type count by these. */
export const regrouped: Trial = (dice, seed) => {
  const isFair = dice.odds(0.6)
  const rate = {
    limit: dice.between(1, 2),
    perMs: dice.between(400, 1_800),
    ...(isFair && { key: 'fairnessKey' }),
  }
  const concurrency = { max: 1, key: 'shop' }
  const limits = dice.pick([{ rate }, { rate, concurrency }, { concurrency }])
  const type = aType(dice.pick(['lambda', 'lambda', 'workers'] as const), { limits })
  const count = dice.between(8, 16)
  return aScenario(seed, {
    trial: 'regrouped',
    weather: { ...CALM, slow: dice.pick([0, 0.05]) },
    calmAt: SPAN_MS + 10_000,
    types: [type],
    workers: workersOf(type, 2, 6),
    steps: [
      ...Array.from({ length: count }, (_, nth) =>
        publish(dice, type, nth, dice.pick(BURSTS_MS) + dice.between(0, 40), isFair),
      ),
      ...updates(dice, type, count, isFair),
    ].sort((a, b) => a.at - b.at),
  })
}

function updates(dice: Dice, type: TypeSetup, count: number, isFair: boolean): Step[] {
  return dice.many(3 * count, 5 * count, () =>
    publish(dice, type, dice.between(0, count - 1), dice.between(1_000, SPAN_MS), isFair),
  )
}

function publish(dice: Dice, { type }: TypeSetup, nth: number, at: number, isFair: boolean): Step {
  return {
    do: 'publish',
    at,
    nonce: nth,
    request: {
      type,
      key: `k${nth}`,
      ...(isFair && { fairnessKey: dice.pick(TENANTS) }),
      ifExists: 'update',
    },
    acts: [{ ms: dice.between(10, 600), end: 'succeed' }],
    shop: dice.pick(SHOPS),
    padding: 0,
  }
}
