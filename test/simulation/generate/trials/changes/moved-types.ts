import type { FlowSetup, Step } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 20_000
const FLOW = 'flow-1'

/** While tasks and flows wait, a deployment changes how their type is served: over HTTP, or by a Lambda. */
export const movedTypes: Trial = (dice, seed) => {
  const isFirstHttp = dice.odds(0.7)
  const name = 'moved'
  const [first, other] = isFirstHttp ? (['http', 'lambda'] as const) : (['lambda', 'http'] as const)
  const { servedBy: _servedBy, ...content } = aType('http', { type: name, shards: dice.between(1, 2) })
  const movedAt = dice.between(3_000, SPAN_MS)
  const move = (at: number, servedBy: 'lambda' | 'http'): Step => ({
    do: 'move-type',
    at,
    servedBy,
    ...content,
  })
  return aScenario(seed, {
    trial: 'moved-types',
    calmAt: SPAN_MS * 2,
    types: [{ ...content, servedBy: first }],
    flows: [flowOf(dice, name)],
    workers: workersOf({ ...content, servedBy: 'http' }, 1, dice.between(1, 2)),
    steps: [
      ...publishes(dice, name),
      move(movedAt, other),
      ...(dice.odds(0.3) ? [move(movedAt + dice.between(2_000, SPAN_MS), first)] : []),
    ].sort((a, b) => a.at - b.at),
  })
}

function flowOf(dice: Dice, type: string): FlowSetup {
  return {
    type: FLOW,
    steps: ['one', 'two', 'three'].map(name => ({
      name,
      do: { type },
      ...(dice.odds(0.5) && { undo: { type } }),
    })),
    onCancel: 'undo',
    defaults: {},
    shards: 1,
  }
}

/** So many that some wait when the type is moved. Some become due only later. */
function publishes(dice: Dice, type: string): Step[] {
  return dice.many(6, 16, nonce => {
    const isFlow = dice.odds(0.3)
    const act = () => ({ ms: dice.between(200, 4_000), end: 'succeed' as const })
    return {
      do: 'publish' as const,
      at: dice.between(500, SPAN_MS / 2),
      nonce,
      request: {
        type: isFlow ? FLOW : type,
        key: `k${nonce}`,
        ...(dice.odds(0.3) && { delayMs: dice.between(1_000, SPAN_MS * 2) }),
        ...(dice.odds(0.3) && { priority: dice.between(-5, 5) }),
      },
      acts: isFlow ? [] : [act()],
      ...(isFlow && {
        pieces: {
          one: [act()],
          two: [act()],
          three: [{ ...act(), end: dice.pick(['succeed', 'fatal'] as const) }],
        },
      }),
      padding: 0,
    }
  })
}
