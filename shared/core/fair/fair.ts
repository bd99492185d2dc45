/**
 * Tenants take turns. A tenant is a fairness key; tasks without one, of a type that has tenants, are one tenant more.
 *
 * Each ready task of a tenant has a turn, a number, and the ready place is sorted by it. The turns of a tenant count up one
 * by one, and none lies before the front, which is the smallest turn that waits. So a tenant that begins to publish starts
 * beside the tasks that are claimed next, however many of another tenant wait, and the tasks of each tenant alternate with
 * those of all others. This is start-time fair queueing.
 *
 * - A task gets a turn when it enters its ready place: at its publish, when it becomes due, at a retry, a release, a next
 *   stage or step. It keeps the turn while it waits there, also for a limit.
 * - A task that waits in the place of a limit keeps its turn, and returns with it, or at the front if that has gone on.
 * - The claim drops the turn.
 */

import { orderNumber } from '../order-number.ts'
import { workOf } from '../task/piece.ts'
import type { Task } from '../task/task.ts'

/** Turns are counted within a line: one type, and one priority where the type is run by priority. */
export type FairLine = { readonly type: string; readonly priority?: number }

/**
 * While nothing waits, the front is the present time, counted in turns. So the last turn of a tenant lies in the past as
 * long as its tasks are served slower than 10,000 a second.
 */
const TURNS_PER_MS = 10
/** The order of a turn is a number beyond every order by due time. */
const TURN_OFFSET = 2 * 10 ** 15
const LAST_TURN = 10 ** 15 - 1
const TURN_PATTERN = /^2[0-9]{15}$/

/** The tenant in whose name a task takes turns; empty for tasks that name none. Undefined: the type has no tenants. */
export function tenantOf(task: Task): string | undefined {
  return task.fairnessKey ?? (workOf(task).isFair ? '' : undefined)
}

export function fairLineOf(task: Task): FairLine {
  const { type, ordering } = workOf(task)
  return ordering === 'priority' ? { type, priority: task.priority } : { type }
}

/** Names a line among all lines. Types have no `#`. */
export function lineName({ type, priority }: FairLine): string {
  return `${type}#${priority ?? ''}`
}

/** The turn that the present time stands for. */
export function presentTurn(now: number): number {
  return now * TURNS_PER_MS
}

/** Position of a turn in a ready place: a smaller turn is claimed first, and every turn of a higher priority before it. */
export function turnOrder(line: FairLine, turn: number): string {
  return `${prefixOf(line)}${TURN_OFFSET + Math.min(turn, LAST_TURN)}`
}

/** The turn at a position in a ready place; undefined when the position is no turn of this line. */
export function turnAt(line: FairLine, order: string): number | undefined {
  const prefix = prefixOf(line)
  const rest = order.slice(prefix.length)
  return order.startsWith(prefix) && TURN_PATTERN.test(rest) ? Number(rest) - TURN_OFFSET : undefined
}

/** Between which positions of a ready place all turns of a line stand. */
export function turnRange(line: FairLine): { readonly from: string; readonly to: string } {
  return { from: turnOrder(line, 0), to: turnOrder(line, LAST_TURN) }
}

function prefixOf({ priority }: FairLine): string {
  return priority === undefined ? '' : `${orderNumber(-priority)}.`
}
