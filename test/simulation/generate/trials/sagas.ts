import { type Act, CALM, type FlowSetup, type Step } from '../../scenario.ts'
import type { Dice } from '../dice.ts'
import { aScenario, aType, type Trial, workersOf } from './trial.ts'

const SPAN_MS = 5_000
const RESUMED_BY_MS = 60_000
const NAMES = ['one', 'two', 'three', 'four'] as const
const ACTIONS = ['retry-do', 'retry-undo', 'skip-undo', 'continue'] as const

/** Flows whose later steps fail and whose undos fail, so that operators resume them several times. */
export const sagas: Trial = (dice, seed) => {
  const type = aType(dice.pick(['lambda', 'workers', 'http'] as const))
  const flow: FlowSetup = {
    type: 'flow-1',
    steps: NAMES.slice(0, dice.between(2, 4)).map(name => ({
      name,
      do: { type: type.type, retry: { maxRetries: dice.between(0, 1), delayMs: 100 } },
      ...(dice.odds(0.85) && { undo: { type: type.type, retry: { maxRetries: 0, delayMs: 100 } } }),
    })),
    onCancel: dice.odds(0.7) ? 'undo' : 'leave',
    defaults: dice.odds(0.2) ? { deadlineMs: dice.between(3_000, 20_000) } : {},
    shards: 1,
  }
  return aScenario(seed, {
    trial: 'sagas',
    weather: { ...CALM, answerLost: dice.pick([0, 0, 0.05]), streamAgain: dice.pick([0, 0.3]) },
    calmAt: SPAN_MS,
    types: [type],
    flows: [flow],
    workers: workersOf(type, 2, 2),
    steps: [
      ...dice.many(1, 3, nth => operated(dice, flow, nth + 1)).flat(),
      ...(dice.odds(0.3) ? pauses(dice, type.type) : []),
    ].sort((a, b) => a.at - b.at),
  })
}

/** The deadline of a flow may pass before a step has begun. */
function pauses(dice: Dice, type: string): Step[] {
  return [
    { at: dice.between(100, SPAN_MS), do: 'pause-type', type },
    { at: dice.between(SPAN_MS, RESUMED_BY_MS), do: 'resume-type', type },
  ]
}

function operated(dice: Dice, flow: FlowSetup, nonce: number): Step[] {
  const id = `${flow.type}:k${nonce}`
  const pieces = flow.steps.flatMap(({ name, undo }, at) => [
    [name, dice.many(1, 3, () => doing(dice, at / flow.steps.length))] as const,
    ...(undo ? [[`undo ${name}`, dice.many(0, 2, () => undoing(dice))] as const] : []),
  ])
  return [
    {
      do: 'publish',
      at: dice.between(100, SPAN_MS),
      nonce,
      request: { type: flow.type, key: `k${nonce}` },
      acts: [],
      pieces: Object.fromEntries(pieces),
      padding: 0,
    },
    ...dice.many(2, 6, () => ({
      do: 'resume' as const,
      at: dice.between(SPAN_MS, RESUMED_BY_MS),
      id,
      actions: dice.many(2, 4, () => dice.pick(ACTIONS)),
    })),
    ...(dice.odds(0.3) ? [{ do: 'cancel' as const, at: dice.between(SPAN_MS, RESUMED_BY_MS), id }] : []),
  ]
}

/** A later step fails more often. */
function doing(dice: Dice, lateness: number): Act {
  return { ms: dice.between(1, 400), end: dice.odds(0.3 + lateness) ? 'fatal' : 'succeed' }
}

function undoing(dice: Dice): Act {
  return { ms: dice.between(1, 400), end: dice.pick(['succeed', 'succeed', 'fatal'] as const) }
}
