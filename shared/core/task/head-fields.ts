import type { Options } from '../options/options.ts'
import type { TaskError } from '../task-error/task-error.ts'
import type { Body } from './body.ts'

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

/** The members that all heads share: the heads of tasks, canvases and schedules. */
export type HeadFields = {
  readonly id: string
  readonly type: string
  readonly key: string
  readonly born: string
  readonly revision: number
  readonly operation: Operation
  readonly state: HeadState
  readonly dueAt: number
  /** The options. The head of a flow holds the options of its present step. */
  readonly options: Options
  /** The number of changes that people asked for; 0 when left out. See `Edited` in `change/change.ts`. */
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

/** The type under which canvases are indexed. No task type can have this name. */
export const CANVAS_TYPE = 'canvas'

/** The fields that only the head of a canvas has. */
export type CanvasState = {
  /** The canvas's layout (see `canvas/layout.ts`), as JSON. */
  readonly tree: Body
  /** The number of its tasks. */
  readonly leaves: number
  /** How many of its tasks are published at a time. */
  readonly sendConcurrency?: number
  /** Whether the leaves that need not wait for others have been published. */
  readonly started: boolean
}

/**
 * The head of a canvas: the fields that all kinds of heads share, and the fields of canvases alone. The tombstone of a removed canvas
 * keeps no tree.
 */
export type Canvas = PresentCanvas | RemovedCanvas

export type PresentCanvas = HeadFields & {
  readonly kind: 'canvas'
  readonly state: Exclude<HeadState, 'removed'>
  /** The W3C trace context of the canvas's publish. */
  readonly traceparent?: string
  /** Set while the canvas is cancelled and its members are not all cancelled. */
  readonly owes?: true
  readonly canvas: CanvasState
}

type RemovedCanvas = HeadFields & {
  readonly kind: 'canvas'
  readonly state: 'removed'
  readonly traceparent?: never
  readonly owes?: never
  readonly canvas?: never
}

/** How a member, or a part of a canvas, has ended. */
export type End = 'succeeded' | 'failed'

/** The canvas that a task belongs to, and its number among the canvas's leaves. */
export type Member = {
  /** The key of the canvas. */
  readonly canvasId: string
  /** The birth of the canvas. */
  readonly born: string
  readonly leaf: number
  /** The task's first end, once the task has been started over. The canvas counts only the first end. */
  readonly first?: 'succeeded' | 'failed'
}

type MayBeMember = Pick<HeadFields, 'state'> & { readonly member?: Member }

/** The end by which a task counts in its canvas: its first end, also after a restart. Undefined before the first end. */
export function memberEnd({ member, state }: MayBeMember): { member: Member; end: End } | undefined {
  if (!member) return undefined
  if (member.first) return { member, end: member.first }
  if (state === 'open') return undefined
  return { member, end: state === 'succeeded' ? 'succeeded' : 'failed' }
}

/** The member with its first end recorded. A member that is removed or started over while it waits counts as failed. */
export function afterFirstEnd(member: Member, { state }: MayBeMember): Member {
  return { ...member, first: member.first ?? (state === 'succeeded' ? 'succeeded' : 'failed') }
}

/** The type under which schedules are indexed. No task type can have this name. */
export const SCHEDULE_TYPE = 'schedule'

/** The rule for the times of a schedule's ticks. Intervals of `everyMs` count from the schedule's creation. */
export type Timing =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'every'; readonly everyMs: number }
  | { readonly kind: 'at'; readonly at: number }

/** Which of several due ticks publish a task. `skip`: the latest, unless it is missed. `catchUp`: the latest few, missed or not. */
export type Missed = 'skip' | { readonly catchUp: number }

/** The fields of a schedule's definition and of its progress. */
export type ScheduleState = {
  readonly timing: Timing
  readonly missed: Missed
  /** With `skip`, a tick that is late by more than this is missed. */
  readonly graceMs: number
  /** The type of the task that each tick publishes. */
  readonly taskType: string
  readonly paused: boolean
  /** The last tick that published a task, or the time at which a caller last triggered the schedule. */
  readonly lastRunAt?: number
  /** The pauses that due ticks may have fallen into, earliest first. The last one has no end while the schedule is paused. */
  readonly pauses?: readonly Pause[]
}

/** The time from a pause to its resumption. */
export type Pause = { readonly from: number; readonly to?: number }

/**
 * The head of a schedule: the fields that all kinds of heads share, and the fields of schedules alone. Its `dueAt` is the next tick. Its
 * `error` says why the last tick could publish no task. The tombstone of a removed schedule keeps no definition.
 */
export type Schedule = PresentSchedule | RemovedSchedule

export type PresentSchedule = HeadFields & {
  readonly kind: 'schedule'
  readonly state: Exclude<HeadState, 'removed'>
  readonly schedule: ScheduleState
  /** The body of the task that each tick publishes. */
  readonly input: Body
  readonly place?: Place
}

type RemovedSchedule = HeadFields & {
  readonly kind: 'schedule'
  readonly state: 'removed'
  readonly schedule?: never
  readonly input?: never
  readonly place?: never
}
