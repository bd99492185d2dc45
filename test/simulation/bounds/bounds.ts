import type { Dice } from '../generate/dice.ts'
import type { BoundRequest } from './bound-request.ts'
import { OF_OTHERS } from './of-others.ts'
import { OF_PUBLISHES } from './of-publishes.ts'
import { OF_REPORTS } from './of-reports.ts'
import { OF_TYPES } from './of-types.ts'

/**
 * Requests at the bounds of the API, and just beyond them. The bounds are those of the documents, and this room knows nothing of the
 * code. `bound-request.ts` makes the requests about one field, and each other file lists the bounds of one part of the API.
 */
const BOUNDS = [...OF_PUBLISHES, ...OF_TYPES, ...OF_REPORTS, ...OF_OTHERS]

/** Draws so many bounds, each with the requests at it and beyond it. */
export function boundRequests(dice: Dice, count: number): BoundRequest[] {
  return Array.from({ length: count }, () => dice.pick(BOUNDS)(dice)).flat()
}
