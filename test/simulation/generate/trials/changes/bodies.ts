import { type Act, CALM, type FlowSetup, type Step } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SPAN_MS = 15_000
const DAY_MS = 86_400_000
const FLOW = 'flow-1'
const MANY_DAYS = [2, 30, 60, 400, 3_000]
/** Some stay in the head, most are stored apart from it. */
const PADDINGS = [0, 300, 3_000]

/** Tasks with large inputs and results are changed, moved by months, restarted and removed. */
export const bodies: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'http'] as const))
  const flow: FlowSetup = {
    type: FLOW,
    steps: ['one', 'two'].map(name => ({ name, do: { type: type.type }, undo: { type: type.type } })),
    onCancel: 'undo',
    defaults: {},
    shards: 1,
  }
  const names = [type.type, type.type, flow.type]
  return aScenario(seed, {
    trial: 'bodies',
    // A process that dies between the removal of a task and that of its bodies leaves these to expire.
    weather: { ...CALM },
    calmAt: SPAN_MS + 5_000,
    ...(dice.odds(0.5) && { conditions: { pageMax: dice.between(1, 3) } }),
    types: [type],
    flows: [flow],
    workers: workersOf(type, 2, 2),
    steps: dice
      .many(2, 4, nth => changed(dice, dice.pick(names), nth + 1))
      .flat()
      .sort((a, b) => a.at - b.at),
    hasReaders: true,
  })
}

/** A task with the steps that change it. Some publishes repeat its first input, so that both inputs are equal. */
function changed(dice: Dice, type: string, nonce: number): Step[] {
  const id = `${type}:k${nonce}`
  const published = publishOf(dice, type, nonce)
  const at = (): number => dice.between(1_000, SPAN_MS)
  const changes = dice.many(3, 7, (): Step => {
    if (dice.odds(0.3))
      return { ...published, at: at(), request: { ...published.request, ifExists: 'update' } }
    if (dice.odds(0.3)) return { ...publishOf(dice, type, nonce), at: at() }
    return dice.pick<Step>([
      { do: 'patch', at: at(), id, changes: { delayMs: dice.pick([0, dice.pick(MANY_DAYS) * DAY_MS]) } },
      { do: 'patch', at: at(), id, changes: { options: { retentionMs: dice.pick(MANY_DAYS) * DAY_MS } } },
      { do: 'patch', at: at(), id, changes: { input: inputOf(dice, nonce) } },
      { do: 'restart', at: at(), id, clean: dice.pick([['failed'], ['failed', 'succeeded']] as const) },
      { do: 'cancel', at: at(), id },
    ])
  })
  const removal: Step = { do: 'remove', at: SPAN_MS + dice.between(0, 3_000), id }
  return [published, ...changes, ...(dice.odds(0.6) ? [removal] : [])]
}

function inputOf(dice: Dice, nonce: number) {
  return { nonce, acts: [], padding: 'y'.repeat(dice.pick(PADDINGS)) }
}

type Publish = Extract<Step, { readonly do: 'publish' }>

function publishOf(dice: Dice, type: string, nonce: number): Publish {
  // A step of a flow has no stages.
  const isFlow = type === FLOW
  const acts = dice.many(0, 3, () => anAct(dice, !isFlow))
  return {
    do: 'publish',
    at: dice.between(100, 2_000),
    nonce,
    request: {
      type,
      key: `k${nonce}`,
      ...(dice.odds(0.3) && { delayMs: dice.pick(MANY_DAYS) * DAY_MS }),
      ...(dice.odds(0.5) && { ifExists: dice.pick(['update', 'restart'] as const) }),
      options: {
        ...(dice.odds(0.6) && { retentionMs: dice.pick(MANY_DAYS) * DAY_MS }),
        // The steps of a flow set these options themselves.
        ...(!isFlow && {
          retry: { maxRetries: 2, delayMs: 100 },
          ...(dice.odds(0.3) && { concurrency: 2 }),
        }),
      },
    },
    acts,
    pieces: { one: acts, two: dice.many(0, 3, () => anAct(dice, false)) },
    padding: dice.pick(PADDINGS),
  }
}

function anAct(dice: Dice, hasStages: boolean): Act {
  const ends: Act['end'][] = ['succeed', 'succeed', 'fail', 'fatal', ...(hasStages ? ['next' as const] : [])]
  return { ms: dice.between(10, 4_000), end: dice.pick(ends) }
}
