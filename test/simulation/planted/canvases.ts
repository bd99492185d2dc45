import type { Change } from '../../../shared/core/change.ts'
import { type Head, isCanvas } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PlantedFault } from './planted-fault.ts'
import { withTaskWrites } from './task-writes.ts'

/** Faults in how canvases count their members and continue. */
export const CANVAS_FAULTS: readonly PlantedFault[] = [
  {
    name: 'a member that is published twice starts over',
    spoil: (system, table) =>
      withTaskWrites(system, apply => async change => {
        const applied = await apply(change)
        const head = table.head(change.after.id)
        const isAgain = !applied.applied && change.after.operation === 'publish' && change.after.member
        return isAgain && head ? apply(republish(change, head)) : applied
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
          const { after } = change
          if (!isCanvas(after) || !after.owes || after.operation !== 'cancel')
            return system.tasks.apply(change)
          const { owes: _owed, ...settled } = after
          return system.tasks.apply({ ...change, after: settled })
        },
      },
    }),
  },
  {
    name: 'results are not handed on',
    spoil: system =>
      withTaskWrites(system, apply => change => {
        const { previous: _previous, ...after } = change.after
        return apply({ ...change, after })
      }),
  },
]

/** The same publish, written over the stored head. */
function republish(change: Change<Task>, { born, revision, fence }: Head): Change<Task> {
  return {
    ...change,
    after: { ...change.after, revision: revision + 1, fence },
    guard: { kind: 'revision', born, revision, leases: [] },
  }
}
