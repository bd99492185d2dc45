import { type Act, CALM, type FlowSetup, type Script, type Step, type TypeSetup } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const PUBLISHED_BY_MS = 3_000
/** All tasks are ready then, so that the first claim finds more than an answer holds. */
const CLAIMED_FROM_MS = 6_000
const FLOW = 'flow-1'
const KB = 1_024

/** HTTP workers claim many tasks at once whose inputs, tags or parameters fill more than one answer. */
export const sizes: Trial = (dice, seed) => {
  const type = aType('http', { shards: dice.between(1, 2) })
  const kind = dice.pick(['flows', 'inputs', 'flows', 'tags'] as const)
  const flow: FlowSetup = {
    type: FLOW,
    steps: Array.from({ length: dice.between(5, 8) }, (_, nth) => ({
      name: `s${nth}`,
      do: { type: type.type },
    })),
    onCancel: 'leave',
    defaults: {},
    shards: 1,
  }
  return aScenario(seed, {
    trial: 'sizes',
    weather: { ...CALM },
    calmAt: CLAIMED_FROM_MS,
    types: [type],
    flows: kind === 'flows' ? [flow] : [],
    workers: workersOf(type, 1, 100).map(worker => ({ ...worker, startsAt: CLAIMED_FROM_MS })),
    steps: STEPS[kind](dice, type),
  })
}

const SUCCEED: readonly Act[] = [{ ms: 100, end: 'succeed' }]

const STEPS: Readonly<Record<'inputs' | 'tags' | 'flows', (dice: Dice, type: TypeSetup) => Step[]>> = {
  inputs: (dice, { type }) =>
    dice.many(15, 25, nonce => publish(dice, { type, nonce, padding: dice.between(100, 340) * KB })),
  tags: (dice, { type }) => {
    const tags = Object.fromEntries(
      Array.from({ length: 48 }, (_, nth) => [`${nth}`.padEnd(128, 't'), '"'.repeat(256)]),
    )
    const padding = dice.between(5, 15) * KB
    return Array.from({ length: 100 }, (_, nonce) => publish(dice, { type, nonce, padding, tags }))
  },
  // The last steps find less room than their results need.
  flows: dice =>
    dice.many(1, 2, nonce => publish(dice, { type: FLOW, nonce, padding: dice.between(200, 300) * KB })),
}

type Given = Pick<Script, 'nonce' | 'padding'> & {
  readonly type: string
  readonly tags?: Readonly<Record<string, string>>
}

function publish(dice: Dice, { type, nonce, padding, tags }: Given): Step {
  return {
    do: 'publish',
    at: dice.between(100, PUBLISHED_BY_MS),
    nonce,
    request: { type, key: `k${nonce}`, ...(tags && { tags }) },
    acts: SUCCEED,
    padding,
  }
}
