import type { ErrorCause } from '../task/error.ts'
import type { Status } from '../task/lifecycle.ts'

/** The types of all events. */
export const EVENT_TYPES = [
  'task.published',
  'task.ready',
  'task.running',
  'task.succeeded',
  'task.failed',
  'task.cancelled',
  'task.lost',
  'task.needs-attention',
  'canvas.published',
  'canvas.succeeded',
  'canvas.failed',
  'canvas.cancelled',
  'schedule.ticked',
  'worker.joined',
  'worker.left',
] as const

export type EventType = (typeof EVENT_TYPES)[number]

/** Something that has happened. It may be delivered more than once, each time with the same id. */
export type BatonEvent = {
  /** ASCII without spaces, since the id is sent in headers. */
  readonly id: string
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The id of the task; for a canvas or a schedule the id of its head. */
  readonly taskId?: string
  /** The type of the task. */
  readonly taskType?: string
  /** The status after the change. */
  readonly status?: Status
  readonly runId?: string
  /** Why the task failed, or the run was lost. Its texts are cut to 120 characters; `GET` of the task shows the whole error. */
  readonly error?: ErrorCause
  readonly workerId?: string
}
