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

export const STATUS_REASONS = [
  'due',
  'retry',
  'paused',
  'rate-limit',
  'concurrency-limit',
  'target-worker',
  'no-handler',
  'no-worker',
  'callbacks-owed',
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

/**
 * A member of a canvas has the status of its task, or one of two more. `pending`: it waits for other members. `skipped`: it never
 * runs, because a member before it failed. An error callback is skipped because no member failed.
 */
export const MEMBER_STATUSES = ['pending', ...STATUSES, 'skipped'] as const

export const TYPE_KINDS = ['handler', 'http', 'webhook', 'flow'] as const
/** What serves the tasks of a type. The types of its steps serve a flow. */
export type TypeKind = (typeof TYPE_KINDS)[number]

export const ORDERINGS = ['arrival', 'priority', 'aged'] as const
/** The order in which the open tasks of a type are run. */
export type Ordering = (typeof ORDERINGS)[number]

export const BACKOFFS = ['exponential', 'fixed', 'fibonacci', 'ladder'] as const
