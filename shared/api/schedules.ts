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
import {
  duration,
  ifRevision,
  operations,
  optional,
  pageOf,
  revision,
  shownTime,
  strict,
  time,
  whole,
} from './scalars.ts'
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

/** The task that each tick publishes. Its key and its due time follow from the tick. */
export type ScheduledTask = TypeOf<typeof scheduledTask>

const missed = z.union([z.literal('skip'), strict({ catchUp: whole(1, CATCH_UP_TICKS_MAX) })], {
  error: `must be "skip" or {catchUp: n} with n from 1 to ${CATCH_UP_TICKS_MAX}`,
})

const timing = {
  /** A cron expression of 5 fields, or of 6 with seconds first. Give exactly one of cron, everyMs and at. */
  cron: optional(z.string().max(CRON_CHARACTERS_MAX)).meta({
    description:
      'A cron expression of 5 fields, or of 6 with seconds first. Give exactly one of cron, everyMs and at.',
  }),
  /** The interval of the ticks, counted from the creation of the schedule. */
  everyMs: optional(duration(EVERY_MS_MIN)).meta({
    description: 'The interval of the ticks, counted from the creation of the schedule.',
  }),
  /** The time of the only tick. */
  at: optional(time).meta({ description: 'The time of the only tick.' }),
  /** The time zone of cron, as an IANA name; UTC when left out. */
  timezone: optional(z.string()).meta({
    description: 'The time zone of cron, as an IANA name; UTC when left out.',
  }),
}

const graceMs = duration(SCHEDULE_GRACE_MS_MIN, SCHEDULE_GRACE_MS_MAX)

export const scheduleBody = strict({
  ...timing,
  /**
   * Which due ticks publish their tasks. `skip`: only the latest one, unless it fell into a pause or is later than graceMs.
   * `catchUp`: the latest n, however late they are. When left out: {catchUp: 1} with at, otherwise skip.
   */
  missed: optional(missed).meta({
    description:
      'Which due ticks publish their tasks. `skip`: only the latest one, unless it fell into a pause or is later than graceMs. `catchUp`: the latest n, however late they are. When left out: {catchUp: 1} with at, otherwise skip.',
  }),
  /** How late a tick may be and still publish its task with `skip`; 300000 when left out. */
  graceMs: optional(graceMs).meta({
    description: `How late a tick may be and still publish its task with \`skip\`; ${SCHEDULE_GRACE_MS} when left out.`,
  }),
  task: scheduledTask,
  ifRevision: optional(ifRevision),
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
    /** Lists show only the type of the task. */
    task: scheduledTask.describe('Lists show only the type of the task.'),
    paused: z.boolean(),
    /** The last tick that published a task, or the time at which a caller last triggered the schedule. */
    lastRunAt: optional(shownTime).describe(
      'The last tick that published a task, or the time at which a caller last triggered the schedule.',
    ),
    /** The next tick. Left out while the schedule is paused, and after its last tick. */
    nextRunAt: optional(shownTime).describe(
      'The next tick. Left out while the schedule is paused, and after its last tick.',
    ),
    /** Why the last tick could not publish a task. */
    lastError: optional(taskError).describe('Why the last tick could not publish a task.'),
    createdAt: shownTime,
    updatedAt: shownTime,
    revision,
    operations: optional(operations),
    /** When the schedule ended, at its last tick. It is kept for a week. */
    finishedAt: optional(shownTime).describe(
      'When the schedule ended, at its last tick. It is kept for a week.',
    ),
  })
  .meta({ id: 'Schedule' })

export type ApiSchedule = TypeOf<typeof scheduleAnswer>

export const schedulePage = pageOf(scheduleAnswer)

export const triggerAnswer = z.object({ taskId: z.string() })

export type TriggerAnswer = TypeOf<typeof triggerAnswer>
