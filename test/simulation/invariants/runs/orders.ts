import { liveRuns, type Task } from '../../../../shared/core/task/task.ts'
import { orderingOf } from '../../../../shared/core/types/task-type.ts'
import type { HistoryEvent } from '../../world/history.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'

/** A job brings a changed order to the waiting tasks. If its message is lost, the sweeper begins it again. */
const REORDERED_WITHIN_MS = 4 * 60_000

/** Promises about types that get another order. */
export const ORDER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'once it is calm, the due tasks of a type have its order within minutes of a change',
    watch: ({ calmAt }) => {
      const orders = new Map<string, { readonly ordering: string; readonly since: number }>()
      const waiting = new Map<string, Task>()
      const isLate = ({ type, ordering, dueAt, kind }: Task, at: number) => {
        const order = orders.get(type)
        if (!order || kind === 'flow' || order.ordering === ordering) return false
        return at - Math.max(order.since, dueAt, START + calmAt) > REORDERED_WITHIN_MS
      }
      const see = (event: HistoryEvent) => {
        if (event.what === 'type') {
          const ordering = orderingOf(event.type)
          const isSame = orders.get(event.type.type)?.ordering === ordering
          if (!isSame) orders.set(event.type.type, { ordering, since: event.at })
        }
        if (event.what === 'write') setWaiting(waiting, event.after as Task)
      }
      return {
        on: event => {
          see(event)
          if (event.what !== 'minute') return undefined
          const late = [...waiting.values()].find(task => isLate(task, event.at))
          return late && `${late.id} has the order ${late.ordering}, although its type has another one`
        },
      }
    },
  },
]

function setWaiting(waiting: Map<string, Task>, task: Task): void {
  if (task.state === 'open' && liveRuns(task).length === 0) waiting.set(task.id, task)
  else waiting.delete(task.id)
}
