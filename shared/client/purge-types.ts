import type { Status } from '../core/task/lifecycle.ts'

/** The removal of many tasks over HTTP; see `api-types.ts`. */

/**
 * Which tasks of a type are removed: those in these statuses that ended before `before`; of open ones those that were
 * published before it. No time to come counts: what is published after the request is never touched.
 */
export type PurgeBody = {
  readonly status: readonly Status[]
  /** @default the time of the request */
  readonly before?: string
}

/** What is being removed. */
export type PurgeAnswer = {
  readonly type: string
  readonly status: readonly Status[]
  readonly before: string
}
