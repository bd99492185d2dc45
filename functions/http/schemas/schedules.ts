import * as z from 'zod'
import {
  MAX_CATCH_UP,
  MAX_CRON_LENGTH,
  MIN_EVERY_MS,
  SCHEDULE_GRACE_MS,
  SCHEDULE_GRACE_MS_MAX,
  SCHEDULE_GRACE_MS_MIN,
} from '../../../shared/core/bounds.ts'
import { publishBody } from './requests.ts'
import { duration, operations, optional, shownTime, strict, time, whole } from './scalars.ts'
import { error } from './task-error.ts'

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

/** A task of a schedule: its key and its due time follow from the tick. */
const scheduledTask = strict(taskFields).meta({ id: 'ScheduledTask' })

const missed = z.union([z.literal('skip'), strict({ catchUp: whole(1, MAX_CATCH_UP) })], {
  error: `must be "skip" or {catchUp: n} with n from 1 to ${MAX_CATCH_UP}`,
})

const timing = {
  cron: optional(z.string().max(MAX_CRON_LENGTH)).meta({
    description: '5 fields, or 6 with seconds first; this, everyMs or at',
  }),
  everyMs: optional(duration(MIN_EVERY_MS)).meta({ description: 'From the creation of the schedule on' }),
  at: optional(time).meta({ description: 'Once' }),
  timezone: optional(z.string()).meta({ description: 'Of cron: an IANA name; UTC when left out' }),
}

const graceMs = duration(SCHEDULE_GRACE_MS_MIN, SCHEDULE_GRACE_MS_MAX)

export const scheduleBody = strict({
  ...timing,
  missed: optional(missed).meta({
    description:
      '`skip` runs the latest due tick only, if it fell into no pause and is not later than graceMs; `catchUp` runs the latest n, however late; with at it is {catchUp: 1} when left out',
  }),
  graceMs: optional(graceMs).meta({
    description: `How late a tick still runs with \`skip\`; ${SCHEDULE_GRACE_MS} when left out`,
  }),
  task: scheduledTask,
}).meta({ id: 'ScheduleBody' })

export const scheduleAnswer = z
  .object({
    name: z.string(),
    cron: optional(z.string()),
    everyMs: optional(z.int()),
    at: optional(shownTime),
    timezone: optional(z.string()),
    missed,
    graceMs: z.int(),
    task: scheduledTask,
    paused: z.boolean(),
    lastRunAt: optional(shownTime),
    nextRunAt: optional(shownTime),
    lastError: optional(error),
    createdAt: shownTime,
    updatedAt: shownTime,
    operations: optional(operations),
    finishedAt: optional(shownTime),
  })
  .meta({ id: 'Schedule' })

export const schedulePage = z.object({ items: z.array(scheduleAnswer), nextCursor: optional(z.string()) })

export const triggerAnswer = z.object({ taskId: z.string() })
