import { type FairLine, fairLineOf, tenantOf, turnAt, turnOrder } from '../fair/fair.ts'
import { readyPlaceOf } from '../place/place.ts'
import { isLimitPlace } from '../place/place-names.ts'
import { isSamePiece } from '../task/piece.ts'
import type { Change } from './change.ts'

/** A task that enters the ready place of a line in the name of its tenant. */
export type LineEntry = {
  readonly line: FairLine
  readonly tenant: string
  /** The turn with which it returns from the place of a limit; undefined: it needs a new one. */
  readonly held?: number
}

/** How a change brings its task into a line; undefined: it does not, or the task waits there already and keeps its turn. */
export function lineEntry({ before, after }: Change): LineEntry | undefined {
  const tenant = tenantOf(after)
  const { place } = after
  if (tenant === undefined || place === undefined || place.name !== readyPlaceOf(after)) return undefined
  const isSameWait = before !== undefined && isSamePiece(before, after) && tenantOf(before) === tenant
  const former = isSameWait ? before.place : undefined
  if (former?.name === place.name && former.order === place.order) return undefined
  const line = fairLineOf(after)
  const held = former && isLimitPlace(former.name) ? turnAt(line, former.order) : undefined
  return { line, tenant, ...(held !== undefined && { held }) }
}

/** The change with the task at this turn of the line that it enters. */
export function atTurn(change: Change, line: FairLine, turn: number): Change {
  const { after } = change
  if (!after.place) return change
  return { ...change, after: { ...after, place: { ...after.place, order: turnOrder(line, turn) } } }
}
