import type { View } from '../task/head-fields.ts'
import type { Status } from '../task/lifecycle.ts'

/**
 * A job that the jobs function does on the tasks of a type one after the other, in the background.
 *
 * - `resume`   dispatches waiting tasks again, because their dispatches were dropped while the type was paused
 * - `relimit`  looks at the lines in which tasks wait, since the limits have changed
 * - `reorder`  gives open tasks the present kind and order of their type, and of the types of their steps
 * - `purge`    removes tasks in some statuses
 */
export type TypeJob =
  | { readonly kind: 'resume' }
  | { readonly kind: 'relimit' }
  | { readonly kind: 'reorder' }
  | PurgeJob

/**
 * A message that makes the jobs function go on with a job on the tasks in one partition of their type's view, from `after` on.
 * `delaySeconds` is a whole number from 0 to 900.
 */
export type JobLook = {
  readonly type: string
  readonly job: TypeJob
  readonly bucket: View['bucket']
  readonly shard: number
  readonly after?: { readonly id: string; readonly sort: number | string }
  readonly delaySeconds: number
}

export type PurgeJob = {
  readonly kind: 'purge'
  readonly statuses: readonly Status[]
  /** The purge covers ended tasks that ended before this time, and open tasks that were published before it. */
  readonly before: number
  /** The time at which a caller asked for the purge. */
  readonly askedAt: number
  /** Set on the second pass. A purge goes through all tasks twice, because an index may show a task late. */
  readonly isSecond?: true
  /** Set once this pass has left a task in place, because an open canvas needs it. */
  readonly hasSpared?: true
}
