import type { Change } from '../../../shared/core/change/change.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PlantedFault } from './planted-fault.ts'

/** Faults in how canvases count their tasks and go on. */
export const CANVAS_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a task of a canvas that is published again starts again',
    spoil: (system, table) => ({
      ...system,
      tasks: {
        ...system.tasks,
        apply: async change => {
          const applied = await system.tasks.apply(change)
          const head = table.head(change.after.id)
          const isAgain = !applied.applied && change.after.operation === 'publish' && change.after.member
          return isAgain && head ? system.tasks.apply(rebirth(change, head)) : applied
        },
      },
    }),
  },
  {
    name: 'a failed task of a canvas counts as succeeded',
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
    name: 'a cancelled canvas forgets its tasks',
    spoil: system => ({
      ...system,
      tasks: {
        ...system.tasks,
        apply: change => {
          const { owes, ...settled } = change.after
          const isForgotten = owes && change.after.canvas && change.after.operation === 'cancel'
          return system.tasks.apply(isForgotten ? { ...change, after: settled } : change)
        },
      },
    }),
  },
  {
    name: 'what is handed on is left out',
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

/** The publish, written over what stands there. */
function rebirth(change: Change, { born, revision, fence }: Task): Change {
  return {
    ...change,
    after: { ...change.after, revision: revision + 1, fence },
    guard: { kind: 'revision', born, revision, leases: [] },
  }
}
