import type { Options } from '../options/options.ts'
import type { TaskError } from './error.ts'

/** The stored state of a head. The status that callers see is derived from it and from the time (see `status/status.ts`). */
export type HeadState = 'open' | 'succeeded' | 'failed' | 'cancelled' | 'removed'

/** The last operation on a head. It is stored in the head and tells the planner the reason of a change. */
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

/** A change that was asked for over the HTTP API: its time, its principal, and its name. */
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
  /** Those of a task are the options of its present piece. */
  readonly options: Options
  /** The last changes asked for over the HTTP API. */
  readonly operations?: readonly OperationRecord[]
  /** The fence of the last claim. Births without a claim keep it too, since the fences of a key grow for ever. */
  readonly fence: number
  readonly error?: TaskError
  readonly createdAt: number
  readonly updatedAt: number
  readonly finishedAt?: number
  readonly expiresAt?: number
  /** Number of its partition in its type's indexes. */
  readonly shard: number
  readonly view?: View
}
