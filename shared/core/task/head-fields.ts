import type { Options } from '../options/options.ts'
import type { TaskError } from './error.ts'

/** The stored state of a head. The status that callers see is derived from it and from the time (see `status/status.ts`). */
export type HeadState = 'open' | 'succeeded' | 'failed' | 'cancelled' | 'removed'

/** The last operation on a head. The head stores it, so that the planner learns the reason for a change. */
export type Operation =
  | 'publish'
  | 'update'
  | 'claim'
  | 'beat'
  | 'succeed'
  | 'fail'
  | 'lose'
  | 'release'
  | 'expire'
  | 'surface'
  | 'throttle'
  | 'block'
  | 'patch'
  | 'cancel'
  | 'remove'
  | 'restart'
  | 'resume'
  | 'settle'
  | 'owe'
  | 'tick'

/** A change that a caller asked for over the HTTP API: its time, its principal, and its name. */
export type OperationRecord = { readonly at: number; readonly by: string; readonly what: string }

/** The entry of a head in the index `view`, from which lists are read: open heads by due time, ended ones by their end. */
export type View = {
  readonly bucket: 'open' | 'compensating' | 'succeeded' | 'failed' | 'cancelled'
  readonly sort: number
}

/**
 * The entry of a head in the index `place`: the partition, and the position there, which compares as text. A head has at most
 * one.
 */
export type Place = { readonly name: string; readonly order: string }

/** The members that all heads share: those of tasks, canvases and schedules. */
export type HeadFields = {
  readonly id: string
  readonly type: string
  readonly key: string
  readonly born: string
  readonly revision: number
  readonly operation: Operation
  readonly state: HeadState
  readonly dueAt: number
  /** The options. The head of a flow holds those of its present step. */
  readonly options: Options
  /** The number of changes that people asked for; 0 when left out. See `change/edits.ts`. */
  readonly edits?: number
  /** The last changes that callers asked for over the HTTP API. */
  readonly operations?: readonly OperationRecord[]
  /** The fence of the last claim. A birth without a claim keeps the last fence of its key, since fences grow for ever. */
  readonly fence: number
  readonly error?: TaskError
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt?: number
  readonly expiresAt?: number
  /** The number of the head's partition in the indexes of its type. */
  readonly shard: number
  readonly view?: View
}
