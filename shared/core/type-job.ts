import type { Status } from './status.ts'

/**
 * What is done to the tasks of a type one after the other, in the background.
 *
 * - `resume`   what waits is sent to the type's workers again: the type was paused, or its limits were others
 * - `purge`    tasks in some statuses are removed
 */
export type TypeJob = { readonly kind: 'resume' } | PurgeJob

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
