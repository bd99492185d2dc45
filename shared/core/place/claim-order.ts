import { workOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'
import { orderNumber } from '../values/text.ts'

/**
 * The position of a task among the open tasks of its type. The task with the smallest position is claimed first.
 *
 * Every ordering falls back on the due time, and among equal due times on the birth. Births are ULIDs: they sort by the time at
 * which they were made, and positions of one process by the order in which it made them. A position stored by an earlier version has no
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

/**
 * Tenants take turns. A tenant is all tasks of a type with one fairness key. Tasks without a key, of a type that has tenants, are
 * one more tenant.
 *
 * Each ready task of a tenant has a turn, which is a number, and the ready place is sorted by turns. The turns of one tenant count
 * up one by one. No new turn lies before the front. The front is the smallest turn of a waiting task, or the turn that claims have
 * reached while limits hold tasks with smaller turns back, if that is larger. So a tenant that begins to
 * publish starts level with the tasks that are claimed next, however many tasks of another tenant wait. The tasks of all tenants
 * alternate. This is start-time fair queueing.
 *
 * - A task gets a turn when it enters its ready place: at its publish, when it becomes due, after a retry's delay, at a release, or
 *   at its next stage or step. It keeps the turn while it waits there, also for a limit.
 * - A task that waits in the place of a limit keeps its turn and returns with it, or at the front if the front has passed it.
 * - A claim drops the turn.
 */

/**
 * A line: the tasks whose turns are compared. It consists of the tasks of one type, and of one priority where the type's tasks are
 * taken by priority.
 */
export type FairLine = { readonly type: string; readonly priority?: number }

/**
 * Turns per millisecond. While no task waits, the front is the present time, counted in turns. So the last turn of a tenant lies in
 * the past as long as workers claim fewer than 10,000 of its tasks a second.
 */
const TURNS_PER_MS = 10
/** Added to a turn in a position, so that every turn sorts behind every position by due time. */
const TURN_OFFSET = 2 * 10 ** 15
const LAST_TURN = 10 ** 15 - 1
const TURN_PATTERN = /^2[0-9]{15}$/

/** The tenant of a task; empty for tasks without a fairness key. Undefined when tenants do not take turns in the type. */
export function tenantOf(task: Task): string | undefined {
  return task.fairnessKey ?? (workOf(task).isFair ? '' : undefined)
}

export function fairLineOf(task: Task): FairLine {
  const { type, ordering } = workOf(task)
  return ordering === 'priority' ? { type, priority: task.priority } : { type }
}

/** The name of a line. It is unique, since the names of types have no `#`. */
export function lineName({ type, priority }: FairLine): string {
  return `${type}#${priority ?? ''}`
}

/** The turn that stands for the time `now`. */
export function presentTurn(now: number): number {
  return now * TURNS_PER_MS
}

/** The position of a turn in a ready place. Higher priorities are claimed first, and within a priority smaller turns. */
export function turnOrder(line: FairLine, turn: number): string {
  return `${prefixOf(line)}${TURN_OFFSET + Math.min(turn, LAST_TURN)}`
}

/** The turn at a position in a ready place; undefined when the position is not a turn of this line. */
export function turnAt(line: FairLine, order: string): number | undefined {
  const prefix = prefixOf(line)
  const rest = order.slice(prefix.length)
  return order.startsWith(prefix) && TURN_PATTERN.test(rest) ? Number(rest) - TURN_OFFSET : undefined
}

/** The range of positions in a ready place that contains all turns of a line. */
export function turnRange(line: FairLine): { readonly from: string; readonly to: string } {
  return { from: turnOrder(line, 0), to: turnOrder(line, LAST_TURN) }
}

function prefixOf({ priority }: FairLine): string {
  return priority === undefined ? '' : `${orderNumber(-priority)}.`
}
