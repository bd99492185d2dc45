import { CALM, type Step } from '../../scenario.ts'
import { DAMAGES, type DamageName } from '../../world/damage.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const PUBLISHED_BY_MS = 1_000
const DAMAGED_BY_MS = 6_000
const ASKED_BY_MS = 40_000
const MINUTE_MS = 60_000
const NAMES = Object.keys(DAMAGES) as DamageName[]
const OPERATIONS = ['get', 'why', 'list', 'list', 'remove'] as const

/**
 * Another program damages heads, or newer code writes them and is rolled back. Callers ask for these tasks, and operators remove them
 * and publish them again. No task is damaged while it runs.
 */
export const damagedHeads: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'http'] as const))
  return aScenario(seed, {
    trial: 'damaged-heads',
    weather: { ...CALM },
    calmAt: ASKED_BY_MS,
    types: [type],
    workers: workersOf(type, 2, 2),
    steps: dice
      .many(4, 8, nth => operated(dice, type.type, nth + 1))
      .flat()
      .sort((a, b) => a.at - b.at),
  })
}

function operated(dice: Dice, type: string, nonce: number): Step[] {
  const [key, id] = [`k${nonce}`, `${type}:k${nonce}`]
  const publish = (at: number, delayMs: number): Step => ({
    do: 'publish',
    at,
    nonce,
    request: { type, key, ...(delayMs > 0 && { delayMs }) },
    acts: [{ ms: 10, end: 'succeed' }],
    padding: dice.pick([0, 300]),
  })
  const ask = (at: number, operation: (typeof OPERATIONS)[number]): Step => ({ do: 'ask', at, operation, id })
  const at = dice.between(100, PUBLISHED_BY_MS)
  if (dice.odds(0.4)) return [publish(at, dice.between(0, 30_000))]
  // A dispatch holds a copy of its task. A task that is due later than a queue can delay has none yet.
  const first = publish(at, dice.pick([0, dice.between(16, 40) * MINUTE_MS]))
  const how = dice.pick(NAMES)
  const again = dice.odds(0.5) && !('v' in DAMAGES[how])
  return [
    first,
    { do: 'damage', at: dice.between(4_000, DAMAGED_BY_MS), id, how },
    ...dice.many(2, 6, () => ask(dice.between(DAMAGED_BY_MS, ASKED_BY_MS - 10_000), dice.pick(OPERATIONS))),
    ...(again ? [ask(ASKED_BY_MS - 8_000, 'remove'), publish(ASKED_BY_MS - 5_000, 0)] : []),
  ]
}
