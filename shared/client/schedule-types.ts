/** Requests and answers of the HTTP API about schedules, as they are in JSON. */
import type { TaskError } from '../core/task/task.ts'
import type { ApiOperation, DerivedBody } from './api-types.ts'

/** What each tick publishes: its key and its due time follow from the tick. */
export type ScheduledTask = Omit<DerivedBody, 'key' | 'dueAt' | 'delayMs'>

/**
 * Which of the due ticks run. `skip` runs the latest only, and not when it fell into a pause or is later than `graceMs`.
 * `catchUp` runs the latest n, however late.
 */
type MissedBody = 'skip' | { readonly catchUp: number }

/** Exactly one of `cron`, `everyMs` and `at`. */
export type ScheduleBody = {
  /** 5 fields, or 6 with seconds first. */
  readonly cron?: string
  /** From the creation of the schedule on. */
  readonly everyMs?: number
  /** Once. */
  readonly at?: string
  /** Of `cron`: an IANA name. @default 'UTC' */
  readonly timezone?: string
  /** @default 'skip'; with `at` `{catchUp: 1}`, so that it runs, however late. */
  readonly missed?: MissedBody
  /** How late a tick still runs with `skip`: 180,000 to 86,400,000. @default 300000 */
  readonly graceMs?: number
  readonly task: ScheduledTask
}

export type ApiSchedule = {
  readonly name: string
  readonly cron?: string
  readonly everyMs?: number
  readonly at?: string
  readonly timezone?: string
  readonly missed: MissedBody
  readonly graceMs: number
  /** In lists its type alone. */
  readonly task: ScheduledTask
  readonly paused: boolean
  /** The last tick that published a task, or when somebody last had it run. */
  readonly lastRunAt?: string
  /** Left out while it is paused, and once it has run for the last time. */
  readonly nextRunAt?: string
  /** Why its last tick could publish no task. */
  readonly lastError?: TaskError
  readonly createdAt: string
  readonly updatedAt: string
  readonly operations?: readonly ApiOperation[]
  /** When it ran for the last time; it is kept for a week. */
  readonly finishedAt?: string
}

export type TriggerAnswer = { readonly taskId: string }
