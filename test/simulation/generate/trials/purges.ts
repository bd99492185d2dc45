import { STATUSES } from '../../../../shared/core/states.ts'
import type { Status } from '../../../../shared/core/task/lifecycle.ts'
import type { Act, FlowSetup, Step } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SPAN_MS = 20_000
/** Purges begin while tasks of every status exist. */
const PURGED_MS = { from: 8_000, to: 80_000 }
/** Until the worker starts, its tasks are ready. */
const STARTS_BY_MS = 150_000
const DELAY_MS = { from: 60_000, to: 200_000 }

/** Tasks of every status, and purges of one status or of some. */
export const purges: Trial = (dice, seed) => {
  const ready = aType('http', { shards: dice.between(1, 2) })
  const quick = aType('lambda', { shards: dice.between(1, 2) })
  const flow: FlowSetup = {
    type: 'flow-1',
    steps: [
      { name: 'one', do: { type: quick.type }, undo: { type: quick.type } },
      { name: 'two', do: { type: quick.type, retry: { maxRetries: 0 } } },
    ],
    onCancel: 'undo',
    defaults: {},
    shards: 1,
  }
  const types = [ready.type, quick.type, flow.type]
  return aScenario(seed, {
    trial: 'purges',
    calmAt: PURGED_MS.to,
    types: [ready, quick],
    flows: [flow],
    workers: workersOf(ready, 1, 3).map(worker => ({
      ...worker,
      startsAt: dice.between(1_000, STARTS_BY_MS),
    })),
    steps: [
      ...dice.many(8, 16, nth => task(dice, dice.pick(types), nth + 1)).flat(),
      ...dice.many(
        2,
        5,
        (): Step => ({
          do: 'purge',
          at: dice.between(PURGED_MS.from, PURGED_MS.to),
          type: dice.pick(types),
          statuses: someStatuses(dice),
        }),
      ),
    ].sort((a, b) => a.at - b.at),
  })
}

function someStatuses(dice: Dice): readonly Status[] {
  const drawn = dice.odds(0.5) ? [] : dice.some(STATUSES, 0.4)
  return drawn.length > 0 ? drawn : [dice.pick(STATUSES)]
}

function task(dice: Dice, type: string, nonce: number): Step[] {
  const key = `k${nonce}`
  const at = dice.between(100, SPAN_MS)
  const isFlow = type === 'flow-1'
  return [
    {
      ...{ do: 'publish', at, nonce, padding: dice.pick([0, 0, 400]) },
      request: { type, key, ...(dice.odds(0.3) && { delayMs: dice.between(DELAY_MS.from, DELAY_MS.to) }) },
      ...(isFlow ? { acts: [], pieces: pieces(dice) } : { acts: [act(dice)] }),
    },
    ...(dice.odds(0.2)
      ? [{ do: 'cancel' as const, at: at + dice.between(100, SPAN_MS), id: `${type}:${key}` }]
      : []),
  ]
}

function act(dice: Dice): Act {
  return {
    ms: dice.pick([10, 500, 30_000]),
    end: dice.pick(['succeed', 'succeed', 'fatal', 'later'] as const),
    laterMs: dice.between(100, 60_000),
  }
}

/** The second step fails, so that the first one is undone, which takes a while. */
function pieces(dice: Dice): Readonly<Record<string, readonly Act[]>> {
  return {
    one: [{ ms: 100, end: 'succeed' }],
    two: [{ ms: dice.between(100, 10_000), end: dice.pick(['succeed', 'fatal', 'fatal'] as const) }],
    'undo one': [{ ms: dice.pick([100, 40_000]), end: dice.pick(['succeed', 'succeed', 'fatal'] as const) }],
  }
}
