import { BODY_GRACE_MS, INLINE_BODY_BYTES_MAX } from '../bounds.ts'
import type { Options } from '../options.ts'
import type { TaskError } from '../task-error/task-error.ts'
import { hash32 } from '../values/text.ts'
import { type Json, jsonBytes, sortedJson } from '../values/values.ts'

/** The stored state of a head. The status that callers see is derived from it and from the time (see `core/status.ts`). */
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

/** The entry of a head in the index `place`: the partition, and the position there, which compares as text. A head has at most one. */
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
  /** The number of changes that people asked for; 0 when left out. See `Edited` in `core/change.ts`. */
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
  /** The stack whose deployment keeps the schedule. Undefined for a schedule that was made over HTTP. */
  readonly managedBy?: string
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

/**
 * An input or a result. A small body is in the head. A large body is an item of its own with the sort key `ref`, kept until `expiresAt`.
 */
export type Body =
  | { readonly inline: Json }
  | { readonly ref: string; readonly bytes: number; readonly expiresAt: number }

/** A body that is an item of its own. */
export type SeparateBody = Extract<Body, { ref: string }>

/** A large value, as an item that is written before the head that refers to it. */
export type ValueWrite = { readonly ref: string; readonly value: Json; readonly expiresAt: number }

/**
 * The sort keys of a task's items besides its head. All of them name the birth. The keys of inputs and callbacks also name the
 * revision that set them. Bodies are written before the head, so of two changes decided on one revision, both may write their
 * bodies. The digest in a key keeps the losing change from overwriting the body of the winning one.
 */
export const bodyRef = {
  input: (born: string, revision: number, value: Json) => `in#${born}#${revision}#${digest(value)}`,
  previous: (born: string, value: Json) => `prev#${born}#${digest(value)}`,
  callbacks: (born: string, revision: number, value: Json) => `call#${born}#${revision}#${digest(value)}`,
  result: (born: string, fence: number, value: Json) =>
    `out#${born}#${fenceOrder(fence)}#${contentDigest(value)}`,
  run: (born: string, fence: number) => `${runRefPrefix(born)}${fenceOrder(fence)}`,
}

function digest(value: Json): string {
  return hash32(JSON.stringify(value)).toString(16)
}

/** A digest of 32 bits, as up to 7 characters. It does not depend on the order of an object's members. */
export function contentDigest(value: Json): string {
  return hash32(sortedJson(value)).toString(36)
}

/** The prefix of the keys of one birth's run records, which sort oldest first. No birth sorts after `~`. */
export function runRefPrefix(born: string): string {
  return `run#${born}#`
}

/** The birth in the key of a run's record. */
export function bornOfRunRef(ref: string): string {
  return ref.split('#')[1] ?? ''
}

function fenceOrder(fence: number): string {
  return String(fence).padStart(10, '0')
}

/** The value as a body. A large value becomes an item of its own, which must be written before the head. */
export function bodyOf(value: Json, ref: string, expiresAt: number): { body: Body; writes: ValueWrite[] } {
  const bytes = jsonBytes(value)
  if (bytes <= INLINE_BODY_BYTES_MAX) return { body: { inline: value }, writes: [] }
  return { body: { ref, bytes, expiresAt }, writes: [{ ref, value, expiresAt }] }
}

/** The bytes of a body's value as JSON; 0 without a body. */
export function bodyBytes(body: Body | undefined): number {
  if (!body) return 0
  return 'ref' in body ? body.bytes : jsonBytes(body.inline)
}

/** The time at which a body of a task due at `dueAt` expires. It is so late that a renewal is rare. */
export function bodyExpiry(dueAt: number, now: number, retentionMs: number): number {
  return Math.max(dueAt, now) + retentionMs + BODY_GRACE_MS
}
