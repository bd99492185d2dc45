import { membersOf } from '../../../shared/aws/dynamo/head/head-members.ts'
import type { CanvasState } from '../../../shared/core/task/canvas-state.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { ScheduleState } from '../../../shared/core/task/schedule-state.ts'
import type { Task } from '../../../shared/core/task/task.ts'

/** A head as the invariants see it: with the members of all kinds, so that one promise can speak of every head. */
export type SeenHead = Task & { readonly canvas?: CanvasState; readonly schedule?: ScheduleState }

export function seenAs(head: Head): SeenHead {
  return membersOf(head) as SeenHead
}
