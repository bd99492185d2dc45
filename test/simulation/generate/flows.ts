import type { StepActionConfiguration, StepConfiguration } from '../../../shared/core/types/task-type.ts'
import type { FlowSetup, Step, TypeSetup } from '../scenario.ts'
import type { Cast } from './cast.ts'
import type { Dice } from './dice.ts'

const NAMES = ['one', 'two', 'three', 'four']

/** The nonce of an input that a step itself has. */
export const STEP_NONCE = -3

export function flowSetups(dice: Dice, types: readonly TypeSetup[]): FlowSetup[] {
  return dice.many(1, 2, index => flowSetup(dice, types, `flow-${index + 1}`))
}

function flowSetup(dice: Dice, types: readonly TypeSetup[], type: string): FlowSetup {
  const names = NAMES.slice(0, dice.between(1, NAMES.length))
  return {
    type,
    steps: names.map(name => step(dice, types, name)),
    onCancel: dice.odds(0.75) ? 'undo' : 'leave',
    defaults: dice.odds(0.1) ? { deadlineMs: dice.between(5_000, 40_000) } : {},
    shards: dice.between(1, 3),
  }
}

function step(dice: Dice, types: readonly TypeSetup[], name: string): StepConfiguration {
  return {
    name,
    do: action(dice, types),
    ...(dice.odds(0.7) && { undo: action(dice, types) }),
  }
}

function action(dice: Dice, types: readonly TypeSetup[]): StepActionConfiguration {
  return {
    type: dice.pick(types).type,
    ...(dice.odds(0.1) && { input: { nonce: STEP_NONCE, acts: [] } }),
    ...(dice.odds(0.15) && { timeoutMs: dice.between(500, 6_000) }),
    ...(dice.odds(0.1) && { deadlineMs: dice.between(2_000, 20_000) }),
    retry: {
      maxRetries: dice.between(0, 2),
      delayMs: dice.between(50, 1_500),
      backoff: dice.pick(['exponential', 'fixed', 'fibonacci'] as const),
      ...(dice.odds(0.1) && { localRetries: 1 }),
    },
  }
}

const RESUMES = ['retry-do', 'retry-do', 'retry-undo', 'retry-undo', 'skip-undo', 'continue'] as const

/**
 * An operator resumes flows, some of them when most tasks are over, and some twice, or a flow is deployed again.
 */
export function ofFlow(dice: Dice, cast: Cast, ids: readonly string[]): Step[] {
  const mine = ids.filter(id => cast.flows.some(({ type }) => id.startsWith(`${type}:`)))
  if (mine.length === 0) return []
  const at = dice.between(cast.spanMs, cast.spanMs * 4)
  if (dice.odds(0.1)) {
    const { type } = dice.pick(cast.flows)
    return [{ at, do: 'deploy-flow', flow: flowSetup(dice, cast.types, type) }]
  }
  const actions = dice.many(1, 4, () => dice.pick(RESUMES))
  return [{ at, do: 'resume', id: dice.pick(mine), actions }]
}
