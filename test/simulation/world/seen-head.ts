import { membersOf } from '../../../shared/aws/dynamo/head/items.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { CanvasState, ScheduleState } from '../../../shared/core/task/head-fields.ts'
import type { Task } from '../../../shared/core/task/task.ts'

/** A head as the invariants see it: with the members of all kinds, so that one promise can speak of every head. */
export type SeenHead = Task & { readonly canvas?: CanvasState; readonly schedule?: ScheduleState }

/** Heads never change, and the judge looks at all of them after every event: this was a twelfth of the simulation's time. */
const seenHeads = new WeakMap<Head, SeenHead>()

export function seenAs(head: Head): SeenHead {
  const known = seenHeads.get(head)
  if (known) return known
  const seen = membersOf(head) as SeenHead
  seenHeads.set(head, seen)
  return seen
}
