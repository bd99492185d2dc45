import type { Status } from '../task/lifecycle.ts'
import type { View } from '../task/task.ts'

/**
 * What is done to the tasks of a type one after the other, in the background.
 *
 * - `resume`   what waits is sent to the type's workers again: the type was paused, and dispatches were dropped
 * - `relimit`  what waits for a limit waits no more, and asks for what the limit is now
 * - `reorder`  what waits is run in the order that its type has now
 * - `purge`    tasks in some statuses are removed
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
  /** Of tasks that have ended before this time, and of open ones that were published before it. */
  readonly before: number
  /** When it was asked for. */
  readonly askedAt: number
  /** It goes through everything twice: an index may show late what was there. */
  readonly isSecond?: true
}
