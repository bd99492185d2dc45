import {
  CATCH_UP_TICKS_MAX,
  CRON_CHARACTERS_MAX,
  EVERY_MS_MIN,
  SCHEDULE_GRACE_MS_MAX,
  SCHEDULE_GRACE_MS_MIN,
} from '../core/bounds.ts'
import { anyOf, open, optional, strict } from '../core/rules/compound.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { duration, flag, integer, literal, shortText, text, time, whole } from '../core/rules/scalars.ts'
import { taskError } from './problems.ts'
import { publishBody } from './publish.ts'
import { ifRevision, operations, pageOf, positionQuery, revision, shownTime } from './scalars.ts'
import { task } from './tasks.ts'

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

const scheduledTask = strict(taskFields, 'ScheduledTask')

/** The task that each tick publishes. Its key and its due time follow from the tick. */
export type ScheduledTask = ValueOf<typeof scheduledTask>

const missed = anyOf(`"skip" or {catchUp: n} with n from 1 to ${CATCH_UP_TICKS_MAX}`, [
  literal('skip'),
  strict({
    /** How many of the latest due ticks publish their tasks. */
    catchUp: whole(1, CATCH_UP_TICKS_MAX),
  }),
])

const timing = {
  /** A cron expression of 5 fields, or of 6 with seconds first. Give exactly one of cron, everyMs and at. @default none */
  cron: optional(shortText(CRON_CHARACTERS_MAX)),
  /**
   * The interval of the ticks in milliseconds, counted from the creation of the schedule. Give exactly one of cron, everyMs and at.
   * @default none
   */
  everyMs: optional(duration(EVERY_MS_MIN)),
  /** The time of the only tick. Give exactly one of cron, everyMs and at. @default none */
  at: optional(time),
  /** The time zone of cron, as an IANA name. @default UTC */
  timezone: optional(text()),
}

const graceMs = duration(SCHEDULE_GRACE_MS_MIN, SCHEDULE_GRACE_MS_MAX)

export const scheduleBody = strict(
  {
    ...timing,
    /**
     * Which due ticks publish their tasks. `skip`: only the latest one, unless it fell into a pause or is later than graceMs.
     * `catchUp`: the latest n, however late they are. @default `{"catchUp": 1}` with at, otherwise `skip`
     */
    missed: optional(missed),
    /** How late a tick may be and still publish its task with `skip`, in milliseconds. @default 300,000 */
    graceMs: optional(graceMs),
    /** The task that each tick publishes. */
    task: scheduledTask,
    /** The revision that the change was made from. If the present revision is another one, the request is refused with 409. @default any */
    ifRevision: optional(ifRevision),
  },
  'ScheduleBody',
)

/** When a schedule ticks, and the task that each tick publishes. It has exactly one of `cron`, `everyMs` and `at`. */
export type ScheduleBody = ValueOf<typeof scheduleBody>

/** A schedule, with its last and its next tick. */
export const scheduleAnswer = open(
  {
    /** The name of the schedule. */
    name: text(),
    /** The cron expression of the ticks. */
    cron: optional(text()),
    /** The interval of the ticks, in milliseconds. */
    everyMs: optional(integer()),
    /** The time of the only tick. */
    at: optional(shownTime),
    /** The time zone of `cron`. */
    timezone: optional(text()),
    /** Which due ticks publish their tasks. */
    missed,
    /** How late a tick may be and still publish its task with `skip`, in milliseconds. */
    graceMs: integer(),
    /** Lists show only the type of the task. */
    task: scheduledTask,
    /** The stack whose code keeps the schedule, by deployment. Left out for a schedule that was made over HTTP. */
    managedBy: optional(text()),
    /** Whether the schedule is paused. */
    paused: flag(),
    /** The last tick that published a task, or the time at which a caller last triggered the schedule. */
    lastRunAt: optional(shownTime),
    /** The next tick. Left out while the schedule is paused, and after its last tick. */
    nextRunAt: optional(shownTime),
    /** Why the last tick could not publish a task. */
    lastError: optional(taskError),
    /** When the schedule was created. */
    createdAt: shownTime,
    /** When the schedule was last changed. */
    updatedAt: shownTime,
    /** How often people have changed the schedule. */
    revision,
    /** The last ten changes that callers made over the HTTP API, oldest first. */
    operations: optional(operations),
    /** When the schedule ended, at its last tick. It is kept for a week. */
    finishedAt: optional(shownTime),
  },
  'Schedule',
)

export type ApiSchedule = ValueOf<typeof scheduleAnswer>

export const schedulePage = pageOf(scheduleAnswer)

/** The query of past ticks. Its cursor is the time of a tick. */
export const ticksQuery = positionQuery(16)

export type TicksQuery = ValueOf<typeof ticksQuery>

const tickAnswer = open(
  {
    /** The time of the tick. */
    at: shownTime,
    /** The id of its task. */
    taskId: text(),
    /** The task. Left out when the tick was missed, and when its task is not kept any more. */
    task: optional(task),
  },
  'Tick',
)

/** A past tick of a schedule, with its task. */
export type ApiTick = ValueOf<typeof tickAnswer>

/** One page of past ticks. */
export const tickPage = pageOf(tickAnswer, 'TickPage')

/** The task that a trigger has published. */
export const triggerAnswer = open(
  {
    /** The id of the published task. */
    taskId: text(),
  },
  'Triggered',
)

export type TriggerAnswer = ValueOf<typeof triggerAnswer>
