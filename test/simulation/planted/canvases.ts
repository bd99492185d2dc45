import type { Change } from '../../../shared/core/change/change.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults in how canvases count their members and continue. */
export const CANVAS_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a member that is published twice starts over',
    spoil: (system, table) => ({
      ...system,
      tasks: {
        ...system.tasks,
        apply: async change => {
          const applied = await system.tasks.apply(change)
          const head = table.head(change.after.id)
          const isAgain = !applied.applied && change.after.operation === 'publish' && change.after.member
          return isAgain && head ? system.tasks.apply(republish(change, head)) : applied
        },
      },
    }),
  },
  {
    name: 'a failed member counts as succeeded',
    spoil: system => ({
      ...system,
      canvases: {
        ...system.canvases,
        addEnds: (canvas, chunk, { ok, bad }, expiresAt) =>
          system.canvases.addEnds(canvas, chunk, { ok: [...ok, ...bad], bad: [] }, expiresAt),
      },
    }),
  },
  {
    name: 'cancelling a canvas leaves its members as they are',
    spoil: system => ({
      ...system,
      tasks: {
        ...system.tasks,
        apply: change => {
          const { owes, ...settled } = change.after
          const isLeftOut = owes && change.after.canvas && change.after.operation === 'cancel'
          return system.tasks.apply(isLeftOut ? { ...change, after: settled } : change)
        },
      },
    }),
  },
  {
    name: 'results are not handed on',
    spoil: system => ({
      ...system,
      tasks: {
        ...system.tasks,
        apply: change => {
          const { previous: _previous, ...after } = change.after
          return system.tasks.apply({ ...change, after })
        },
      },
    }),
  },
]

/** The same publish, written over the stored head. */
function republish(change: Change, { born, revision, fence }: Task): Change {
  return {
    ...change,
    after: { ...change.after, revision: revision + 1, fence },
    guard: { kind: 'revision', born, revision, leases: [] },
  }
}
