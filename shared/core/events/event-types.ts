import type { Status } from '../task/lifecycle.ts'
import type { ErrorCause } from '../task/task.ts'

/** All that is told of. */
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

/** Something that has happened. It may be told more than once, each time with the same id. */
export type BatonEvent = {
  /** ASCII without spaces: it travels in headers. */
  readonly id: string
  readonly type: EventType
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Of a canvas and a schedule the id of its own head. */
  readonly taskId?: string
  /** The type of the task. */
  readonly taskType?: string
  /** As the change left it. */
  readonly status?: Status
  readonly runId?: string
  /** Why the task failed, or the run was lost; its texts are cut to 120 characters. `GET` of the task shows all of it. */
  readonly error?: ErrorCause
  readonly workerId?: string
}
