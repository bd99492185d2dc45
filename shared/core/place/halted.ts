import type { Place } from '../task/head-fields.ts'
import { needsAttention, type Task } from '../task/task.ts'
import { hash32, orderNumber } from '../values/text.ts'

/** The partitions of the place of halted tasks. There are several, because a broken undo may halt many flows at once. */
export const HALTED_PLACES = ['halted#0', 'halted#1', 'halted#2', 'halted#3'] as const

/** The place of an ended task for which an operator must decide. No other ended task has a place. */
export function haltedPlaceOf(task: Task): Place | undefined {
  const name = HALTED_PLACES[hash32(task.id) % HALTED_PLACES.length]
  return name && needsAttention(task) ? { name, order: orderNumber(task.updatedAt) } : undefined
}
