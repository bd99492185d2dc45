/** The closed lists of states and kinds. The types of the core and the schemas of the HTTP API read them here. */

export const STATUSES = [
  'delayed',
  'ready',
  'running',
  'compensating',
  'succeeded',
  'failed',
  'cancelled',
] as const

/** The statuses in which no run follows without a request. */
export const ENDED_STATUSES = ['succeeded', 'failed', 'cancelled'] as const

/** Whether the statuses exclude ended tasks. Without a status, none is excluded. */
export function areOpen(statuses: ReadonlyArray<(typeof STATUSES)[number]>): boolean {
  return statuses.length > 0 && !ENDED_STATUSES.some(ended => statuses.includes(ended))
}

/** The statuses of the tasks on which a bulk operation acts. A flow that undoes its steps is not cancelled. */
export const BULK_STATUSES = {
  retry: ENDED_STATUSES,
  cancel: ['delayed', 'ready', 'running'],
  remove: STATUSES,
} as const

export const STATUS_REASONS = [
  'due',
  'retry',
  'type-not-allowed',
  'paused',
  'rate-limit',
  'concurrency-limit',
  'target-worker',
  'no-handler',
  'no-worker',
  'callbacks-owed',
] as const

/**
 * The reasons of `why`: every `statusReason`, and words for what a `statusReason` leaves open. Each answer has exactly one.
 * `docs/waiting.md` has the table.
 */
export const WHY_REASONS = [
  ...STATUS_REASONS,
  /** The type of a flow's present step is paused; the type of the flow is not. */
  'step-paused',
  /** None of the listed workers shows a sign of life. */
  'target-offline',
  /** Every live worker has a lower version than the task asks for. */
  'worker-version',
  /** Every live worker has done its part of the task, or has spent its own retries. */
  'workers-spent',
  /** Its last run was lost: the process of its handler ended. */
  'crashing',
  /** Other tasks are ahead of it, or messages wait in its queue. */
  'backlog',
  /** Nothing delays it: a worker is about to take it. */
  'dispatched',
  /** It should run, and has shown no sign of life for 15 minutes. */
  'stuck',
  /** The message that it waits for was given up. */
  'dead-lettered',
  /** It is a member of a canvas, and waits for other members. */
  'canvas',
  /** It is a member of a canvas that never runs. */
  'skipped',
  'running',
  /** An undo of a flow has failed for good, and an operator must decide. */
  'undo-failed',
  'succeeded',
  'failed',
  'cancelled',
] as const

export const ENDED_RUN_STATES = ['succeeded', 'failed', 'lost', 'released', 'cancelled'] as const

export const RUN_GONE_REASONS = ['ended', 'lost', 'cancelled', 'removed', 'excluded', 'timed-out'] as const

export const STEP_STATES = [
  'pending',
  'running',
  'succeeded',
  'failed',
  'undoing',
  'undone',
  'undo-failed',
  'skipped',
] as const

/** What a canvas is as a whole, and the word with which its body says so. */
export const CANVAS_FORMS = ['chain', 'group', 'chord'] as const

/** How far a canvas is. */
export const CANVAS_STATUSES = ['running', ...ENDED_STATUSES] as const

/**
 * A member of a canvas has the status of its task, or one of two more. `pending`: it waits for other members. `skipped`: it never
 * runs, because a member before it failed. An error callback is skipped because no member failed.
 */
export const MEMBER_STATUSES = ['pending', ...STATUSES, 'skipped'] as const

export const TYPE_KINDS = ['handler', 'http', 'webhook', 'flow'] as const
/** What serves the tasks of a type. The types of its steps serve a flow. */
export type TypeKind = (typeof TYPE_KINDS)[number]

export const WORKER_STATES = ['live', 'draining', 'stopped', 'dead'] as const

export const ORDERINGS = ['arrival', 'priority', 'aged'] as const
/** The order in which the open tasks of a type are run. */
export type Ordering = (typeof ORDERINGS)[number]

export const BACKOFFS = ['exponential', 'fixed', 'fibonacci', 'ladder'] as const

/** Where messages are given up, besides the queues of the types. */
export const SYSTEM_QUEUES = ['wake', 'jobs', 'stream', 'schedules', 'unknown'] as const

export const DEAD_LETTER_KINDS = [
  'dispatch',
  'look',
  'limit',
  'minute',
  'events',
  'canvas',
  'job',
  'changes',
  'round',
  'unreadable',
] as const

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
