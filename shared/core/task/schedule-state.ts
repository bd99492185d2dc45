import type { Body } from './body.ts'
import type { HeadFields, HeadState, Place } from './head-fields.ts'

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
 * The head of a schedule: the fields that all kinds of heads share, and those of schedules alone. Its `dueAt` is the next tick. Its
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
