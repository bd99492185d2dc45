import type { Task } from '../../../shared/core/task.ts'
import type { PlanningSystem } from '../../../shared/runtime/system.ts'
import type { Planted } from './planted.ts'

/** Faults in what is sent, found, and swept. */
export const IN_MESSAGES: readonly Planted[] = [
  {
    name: 'the sweeper is forgotten',
    spoil: system => ({ ...system, types: { ...system.types, list: async () => [] } }),
  },
  {
    name: 'no look is armed',
    spoil: system => ({ ...system, messages: { ...system.messages, look: async () => [] } }),
  },
  {
    name: 'a dispatch is sent only by the sweeper',
    spoil: system => ({ ...system, messages: { ...system.messages, dispatch: bySweeper(system) } }),
  },
  {
    name: 'the targets of a task are not told',
    spoil: system => ({ ...system, targets: { ...system.targets, mark: async () => undefined } }),
  },
]

function bySweeper({ messages, clock }: PlanningSystem): PlanningSystem['messages']['dispatch'] {
  const isOld = (task: Task) => clock.now() - Math.max(task.dueAt, task.updatedAt) > 5_000
  return async dispatches => {
    const old = dispatches.filter(({ task }) => isOld(task))
    return old.length > 0 ? messages.dispatch(old) : []
  }
}
