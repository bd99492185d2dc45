import { isSamePiece } from '../task/piece.ts'
import type { Task } from '../task/task.ts'
import { type FairLine, fairLineOf, tenantOf, turnAt, turnOrder } from './fair.ts'
import { readyPlaceOf } from './place.ts'
import { isLimitPlace } from './place-names.ts'

/** A tenant's task enters the ready place of its type, and so needs a turn in the line. */
export type LineEntry = {
  readonly line: FairLine
  readonly tenant: string
  /** The turn that the task kept while it was in the place of a limit. Undefined: the task needs a new turn. */
  readonly keptTurn?: number
}

/** The entry of a changed task into its line. Undefined when the task enters no line, or is in it already and keeps its turn. */
export function lineEntry(before: Task | undefined, after: Task): LineEntry | undefined {
  const tenant = tenantOf(after)
  const { place } = after
  if (tenant === undefined || place === undefined || place.name !== readyPlaceOf(after)) return undefined
  const mayKeepTurn = before !== undefined && isSamePiece(before, after) && tenantOf(before) === tenant
  const former = mayKeepTurn ? before.place : undefined
  if (former?.name === place.name && former.order === place.order) return undefined
  const line = fairLineOf(after)
  const keptTurn = former && isLimitPlace(former.name) ? turnAt(line, former.order) : undefined
  return { line, tenant, ...(keptTurn !== undefined && { keptTurn }) }
}

/** The task with this turn of the line as its position in the ready place. */
export function movedToTurn(task: Task, line: FairLine, turn: number): Task {
  return task.place ? { ...task, place: { ...task.place, order: turnOrder(line, turn) } } : task
}
