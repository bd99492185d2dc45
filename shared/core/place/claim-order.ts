import { workOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'
import { orderNumber } from '../values/order-number.ts'

/**
 * The position of a task among the open tasks of its type. The task with the smallest position is claimed first.
 *
 * Every ordering falls back on the due time, and among equal due times on the birth. Births are ULIDs: they sort by the time at
 * which they were made, and those of one process by the order in which it made them. A position stored by an earlier version has no
 * birth, and sorts before an equal position with one.
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

/** The position of a task by the ordering of the type of its present piece. */
export function workOrder(task: Task): string {
  return claimOrder({ ...task, ordering: workOf(task).ordering })
}
