import { hash32 } from '../../../../../shared/core/values/text.ts'
import type { Step, TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const BIG = 'tenant-0'
const NAMES = Array.from({ length: 200 }, (_, index) => `tenant-${index + 1}`)
/** Tenants that a hash of 16 values maps to the same value as the big tenant. */
const ALIKE = NAMES.filter(name => hash32(name) % 16 === hash32(BIG) % 16)
const PUBLISHED_BY_MS = 4_000

/** One tenant publishes many tasks. While workers execute these, other tenants publish a few each. */
export const tenants: Trial = (dice, seed) => {
  const type = aType(dice.pick(['http', 'workers'] as const))
  const small = dice.many(1, 3, () => dice.pick(dice.odds(0.7) ? ALIKE : NAMES))
  return aScenario(seed, {
    trial: 'tenants',
    types: [type],
    workers: workersOf(type, 1, 2),
    steps: [
      ...Array.from({ length: 120 }, (_, index) => publish(type, BIG, index, 500 + index * 5)),
      ...[...new Set(small)].flatMap((tenant, nth) => few(dice, type, tenant, 1_000 * (nth + 1))),
    ].sort((a, b) => a.at - b.at),
  })
}

function few(dice: Dice, type: TypeSetup, tenant: string, nonce: number): Step[] {
  return dice.many(1, 3, index => publish(type, tenant, nonce + index, dice.between(1_000, PUBLISHED_BY_MS)))
}

function publish({ type }: TypeSetup, fairnessKey: string, nonce: number, at: number): Step {
  return {
    do: 'publish',
    at,
    nonce,
    request: { type, key: `${fairnessKey}-${nonce}`, fairnessKey },
    acts: [{ ms: 200, end: 'succeed' }],
    padding: 0,
  }
}
