/** The type under which schedules stand in the indexes; no task type can have its name. */
export const SCHEDULE_TYPE = 'schedule'

/** When a schedule runs. Every `everyMs` counts from the schedule's creation; times are ms since the epoch. */
export type Timing =
  | { readonly kind: 'cron'; readonly cron: string; readonly timezone: string }
  | { readonly kind: 'every'; readonly everyMs: number }
  | { readonly kind: 'at'; readonly at: number }

/** Which of several due ticks run: the latest, unless it is missed, or the latest few, missed or not. */
export type Missed = 'skip' | { readonly catchUp: number }

/**
 * What a schedule's head keeps beside what every head has; its `dueAt` is the next tick, its input the body of the task
 * that each tick publishes, its `error` why the last tick could publish none.
 */
export type ScheduleState = {
  readonly timing: Timing
  readonly missed: Missed
  /** With `skip`, a tick that is later than this is missed. */
  readonly graceMs: number
  /** Type of the task that each tick publishes. */
  readonly taskType: string
  readonly paused: boolean
  /** The last tick that a task was published for, or when one was published by hand. */
  readonly lastRunAt?: number
  /** The pauses that due ticks may have fallen into, earliest first; the last one has no end while it is paused. */
  readonly pauses?: readonly Pause[]
}

/** From the pause to the resumption, in ms since the epoch. */
export type Pause = { readonly from: number; readonly to?: number }
