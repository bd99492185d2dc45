import * as z from 'zod'
import {
  CATCH_UP_TICKS_MAX,
  CRON_CHARACTERS_MAX,
  EVERY_MS_MIN,
  SCHEDULE_GRACE_MS,
  SCHEDULE_GRACE_MS_MAX,
  SCHEDULE_GRACE_MS_MIN,
} from '../core/bounds.ts'
import { taskError } from './problems.ts'
import { publishBody } from './publish.ts'
import { duration, operations, optional, pageOf, shownTime, strict, time, whole } from './scalars.ts'
import type { TypeOf } from './type-of.ts'

/** Bodies and answers of schedules. */

const {
  key: _key,
  ifExists: _ifExists,
  clean: _clean,
  dueAt: _dueAt,
  delayMs: _delayMs,
  debounce: _debounce,
  throttle: _throttle,
  ...taskFields
} = publishBody.shape

const scheduledTask = strict(taskFields).meta({ id: 'ScheduledTask' })

/** What each tick publishes: its key and its due time follow from the tick. */
export type ScheduledTask = TypeOf<typeof scheduledTask>

const missed = z.union([z.literal('skip'), strict({ catchUp: whole(1, CATCH_UP_TICKS_MAX) })], {
  error: `must be "skip" or {catchUp: n} with n from 1 to ${CATCH_UP_TICKS_MAX}`,
})

const timing = {
  /** 5 fields, or 6 with seconds first; this, everyMs or at */
  cron: optional(z.string().max(CRON_CHARACTERS_MAX)).meta({
    description: '5 fields, or 6 with seconds first; this, everyMs or at',
  }),
  /** From the creation of the schedule on */
  everyMs: optional(duration(EVERY_MS_MIN)).meta({ description: 'From the creation of the schedule on' }),
  /** Once */
  at: optional(time).meta({ description: 'Once' }),
  /** Of cron: an IANA name; UTC when left out */
  timezone: optional(z.string()).meta({ description: 'Of cron: an IANA name; UTC when left out' }),
}

const graceMs = duration(SCHEDULE_GRACE_MS_MIN, SCHEDULE_GRACE_MS_MAX)

export const scheduleBody = strict({
  ...timing,
  /**
   * `skip` runs the latest due tick only, if it fell into no pause and is not later than graceMs; `catchUp` runs the
   * latest n, however late; with at it is {catchUp: 1} when left out
   */
  missed: optional(missed).meta({
    description:
      '`skip` runs the latest due tick only, if it fell into no pause and is not later than graceMs; `catchUp` runs the latest n, however late; with at it is {catchUp: 1} when left out',
  }),
  /** How late a tick still runs with `skip`; 300000 when left out */
  graceMs: optional(graceMs).meta({
    description: `How late a tick still runs with \`skip\`; ${SCHEDULE_GRACE_MS} when left out`,
  }),
  task: scheduledTask,
}).meta({ id: 'ScheduleBody' })

/** Exactly one of `cron`, `everyMs` and `at`. */
export type ScheduleBody = TypeOf<typeof scheduleBody>

export const scheduleAnswer = z
  .object({
    name: z.string(),
    cron: optional(z.string()),
    everyMs: optional(z.int()),
    at: optional(shownTime),
    timezone: optional(z.string()),
    missed,
    graceMs: z.int(),
    /** In lists its type alone. */
    task: scheduledTask.describe('In lists its type alone.'),
    paused: z.boolean(),
    /** The last tick that published a task, or the last time that it was triggered. */
    lastRunAt: optional(shownTime).describe(
      'The last tick that published a task, or the last time that it was triggered.',
    ),
    /** Left out while it is paused, and once it has run for the last time. */
    nextRunAt: optional(shownTime).describe(
      'Left out while it is paused, and once it has run for the last time.',
    ),
    /** Why its last tick could publish no task. */
    lastError: optional(taskError).describe('Why its last tick could publish no task.'),
    createdAt: shownTime,
    updatedAt: shownTime,
    operations: optional(operations),
    /** When it ran for the last time; it is kept for a week. */
    finishedAt: optional(shownTime).describe('When it ran for the last time; it is kept for a week.'),
  })
  .meta({ id: 'Schedule' })

export type ApiSchedule = TypeOf<typeof scheduleAnswer>

export const schedulePage = pageOf(scheduleAnswer)

export const triggerAnswer = z.object({ taskId: z.string() })

export type TriggerAnswer = TypeOf<typeof triggerAnswer>
