import { orderNumber } from '../order-number.ts'
import { workOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'

/**
 * Position among the open tasks of a type: smaller is claimed first. Every ordering falls back on the due time, and of equal
 * due times on the order of arrival: births are ULIDs, which sort by their time, and in the order in which a process makes
 * them. Positions stored by earlier versions have no birth, and stand before those of the same time that have.
 */
export function claimOrder(task: Pick<Task, 'ordering' | 'priority' | 'dueAt' | 'born'>): string {
  return `${orderOfTime(task)}.${task.born}`
}

function orderOfTime({ ordering, priority, dueAt }: Pick<Task, 'ordering' | 'priority' | 'dueAt'>): string {
  switch (ordering) {
    case 'arrival':
      return orderNumber(dueAt)
    case 'priority':
      return `${orderNumber(-priority)}.${orderNumber(dueAt)}`
    case 'aged':
      return orderNumber(dueAt - priority * 1_000)
  }
}

/** Position of a task by the order in which the type of its present piece is run. */
export function workOrder(task: Task): string {
  return claimOrder({ ...task, ordering: workOf(task).ordering })
}
