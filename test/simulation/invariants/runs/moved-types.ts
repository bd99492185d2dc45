import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import { START } from '../../world/world.ts'
import type { Invariant, Write } from '../invariant.ts'
import { createWaits } from '../waits.ts'

/** Longer than all runs of the trial take together, and some rounds of the sweeper. */
const STARTED_WITHIN_MS = 4 * 60_000

/** Promises about types that other workers serve after a deployment. */
export const MOVED_TYPE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'after a deployment has changed the kind of a type, its waiting tasks and the flows at its steps start within minutes',
    watch: ({ trial, calmAt }) => {
      if (trial !== 'moved-types') return {}
      const waits = createWaits()
      return {
        on: event => {
          const { at } = event
          if (event.what === 'write' && !staysAsItWas(event))
            waits.set(event.after.id, isWaiting(event.after) ? Math.max(event.after.dueAt, at) : undefined)
          return waits.late(at, STARTED_WITHIN_MS, START + calmAt)
        },
      }
    },
  },
]

/** Whether a task waited before this write, and waits since then. */
function staysAsItWas({ before, after }: Write): boolean {
  return before?.dueAt === after.dueAt && isWaiting(before) && isWaiting(after)
}

function isWaiting(task: Task): boolean {
  return task.state === 'open' && liveRuns(task).length === 0
}
