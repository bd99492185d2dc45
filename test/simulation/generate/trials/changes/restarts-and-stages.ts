import type { Act, Step, TypeSetup } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 20_000
const SHOPS = ['ONE', 'TWO', 'THREE'] as const
const TENANTS = ['t1', 't2', 't3'] as const

/** Tasks fail and are restarted. Limits count them by their tenant or their user. */
export const restarts: Trial = (dice, seed) => {
  const type = limited(dice, dice.pick(['fairnessKey', 'userId', undefined] as const))
  return aScenario(seed, {
    trial: 'restarts',
    calmAt: SPAN_MS * 2,
    types: [type],
    workers: workersOf(type, 2, 3),
    steps: tasks(dice, index => [
      {
        ...publish(type, index, dice.between(100, SPAN_MS)),
        acts: dice.odds(0.8) ? [{ ms: dice.between(1, 400), end: 'fatal' }] : [],
      },
      {
        do: 'restart',
        at: dice.between(SPAN_MS / 2, SPAN_MS * 2),
        id: `${type.type}:k${index}`,
        clean: ['failed'],
      },
    ]),
  })

  function publish({ type: name }: TypeSetup, index: number, at: number) {
    return {
      do: 'publish' as const,
      at,
      nonce: index,
      request: {
        type: name,
        key: `k${index}`,
        ...(dice.odds(0.7) && { fairnessKey: dice.pick(TENANTS) }),
        ...(dice.odds(0.5) && { userId: dice.pick(TENANTS) }),
        ...(dice.odds(0.5) && { priority: dice.between(-5, 5) }),
      },
      padding: 0,
    }
  }
}

/** Tasks move to other stages with inputs of other shops. Limits count them by the shop. */
export const stages: Trial = (dice, seed) => {
  const type = limited(dice, 'shop')
  return aScenario(seed, {
    trial: 'stages',
    calmAt: SPAN_MS,
    types: [type],
    workers: workersOf(type, 2, 3),
    steps: tasks(dice, index => [
      {
        do: 'publish',
        at: dice.between(100, SPAN_MS),
        nonce: index,
        request: { type: type.type, key: `k${index}`, stage: 's1' },
        acts: [],
        pieces: { s1: [moving(dice)], s2: [{ ms: dice.between(100, 2_000), end: 'succeed' }] },
        shop: dice.pick(SHOPS),
        padding: dice.pick([0, 300, 300]),
      },
    ]),
  })
}

function moving(dice: Dice): Act {
  return {
    ms: dice.between(1, 500),
    end: 'next',
    ...(dice.odds(0.8) && { shop: dice.pick(SHOPS) }),
  }
}

function limited(dice: Dice, key: string | undefined): TypeSetup {
  const concurrency = { max: dice.between(1, 2), ...(key !== undefined && { key }) }
  return aType(dice.pick(['lambda', 'workers', 'http'] as const), { limits: { concurrency } })
}

function tasks(dice: Dice, stepsOf: (index: number) => Step[]): Step[] {
  return dice
    .many(4, 10, stepsOf)
    .flat()
    .sort((a, b) => a.at - b.at)
}
