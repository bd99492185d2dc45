import { ACTIVITY_MINUTES_MAX, LIST_TYPES_MAX } from '../../core/bounds.ts'
import { listOf, open, optional, strict } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { name, text, time, whole } from '../../core/rules/scalars.ts'
import { typeNameRule } from '../../core/rules/type-configuration.ts'
import { count, PAGE_ITEMS_MAX, pageOf, pageQuery, shownTime } from '../scalars.ts'
import { countsAnswer } from '../types.ts'

/** What types have to do: the numbers of their tasks, their activity by the minute, and the usage of their limits. And how their tasks fail. */

const COUNTED_MAX = 1_000_000

const atMost = optional(whole(1, COUNTED_MAX))

export const countsQuery = strict({
  /** Counts up to this number. A count of this number means this many tasks or more. @default every task is counted */
  atMost,
})

export type CountsQuery = ValueOf<typeof countsQuery>

export const allCountsQuery = strict({
  /** Counts up to this number. A count of this number means this many tasks or more. @default 1000 */
  atMost,
  ...pageQuery.shape,
})

export type AllCountsQuery = ValueOf<typeof allCountsQuery>

const typeCounts = open(
  {
    /** The name of the type. */
    type: text(),
    /** The numbers of the type's tasks, by status. */
    counts: countsAnswer,
    /** A task has been ready since this time at least. Left out when none is ready, or when more than 50 run. */
    readySince: optional(shownTime),
  },
  'TypeCounts',
)

/** The numbers of the tasks of a type, by status, and since when one of them has been ready. */
export type TypeCounts = ValueOf<typeof typeCounts>

export const allCountsPage = pageOf(typeCounts)

export const activityQuery = strict({
  /** The types whose activity is shown. @default all types, page by page */
  type: optional(listOf(typeNameRule, { max: LIST_TYPES_MAX })),
  /** How many minutes are shown. The present minute, which has not ended, is the last of them. @default 60 */
  minutes: optional(whole(1, ACTIVITY_MINUTES_MAX)),
  ...pageQuery.shape,
})

export type ActivityQuery = ValueOf<typeof activityQuery>

const lateness = open({
  /** Half of the runs started within this many milliseconds of the time at which they could. */
  p50Ms: count,
  /** 95 of 100 runs started within this many milliseconds of the time at which they could. */
  p95Ms: count,
})

const minute = open({
  /** When the minute begins. */
  at: shownTime,
  /** Tasks that were published. */
  published: count,
  /** Runs that started, of new tasks and of retries. */
  started: count,
  /** Tasks that succeeded. */
  succeeded: count,
  /** Tasks that failed for good. */
  failed: count,
  /** Tasks that were cancelled. */
  cancelled: count,
  /** How long runs could have started before they did. Each number is rounded up to a power of two. Left out when no run started. */
  lateness: optional(lateness),
})

const typeActivity = open(
  {
    /** The name of the type. */
    type: text(),
    /** Minutes without activity are left out. */
    minutes: listOf(minute),
    /** The lateness over all minutes that are shown. */
    lateness: optional(lateness),
  },
  'TypeActivity',
)

/** What the tasks of a type did, minute by minute. */
export type ApiTypeActivity = ValueOf<typeof typeActivity>
export type ApiMinute = ValueOf<typeof minute>

export const activityPage = open({ ...pageOf(typeActivity).shape, from: shownTime, to: shownTime })

export type ActivityPage = ValueOf<typeof activityPage>

const VALUE_CHARACTERS_MAX = 1_000

const keyValue = optional(name(VALUE_CHARACTERS_MAX))

/** A limit with a key has permits and slots of its own for each value. The two limits of a type may have different keys. */
export const limitUsageQuery = strict({
  /** The value of the key of the rate limit. @default `value` */
  rateValue: keyValue,
  /** The value of the key of the concurrency limit. @default `value` */
  concurrencyValue: keyValue,
  /** The value of both keys, for limits with the same key. @default the usage of a limit with a key is left out */
  value: keyValue,
  /** How many of the due tasks, the earliest first, are examined for what the limits hold back. @default none */
  waiting: optional(whole(1, PAGE_ITEMS_MAX)),
})

export type LimitUsageQuery = ValueOf<typeof limitUsageQuery>

/** What a limit holds back among the due tasks that were examined, by the value of its key: the most tasks first. */
const waiting = optional(
  listOf(
    open({
      /** The value of the key, in the form in which limits are named: long values are shortened. Left out without a key. */
      value: optional(text()),
      /** How many of the tasks wait. */
      tasks: count,
    }),
  ),
)

const permitHolder = open({
  /** The id of the task whose run holds the permit. */
  taskId: text(),
  /** When the run took the permit. */
  since: shownTime,
})

export const limitUsage = open(
  {
    /** The name of the type. */
    type: text(),
    /** The rate limit. Left out when the type has none. */
    rate: optional(
      open({
        /** How many runs may start within `perMs`. */
        limit: count,
        /** The time within which `limit` runs may start, in milliseconds. */
        perMs: count,
        /** The field whose values have slots of their own: a field of the input, `userId` or `fairnessKey`. */
        key: optional(text()),
        /** The value of the key whose slots are shown, as the request gave it. */
        value: optional(text()),
        /**
         * When the next free slot begins; the time of the answer when a task may start at once. Left out when the limit has a key and the
         * request no value of it.
         */
        nextSlotAt: optional(shownTime),
        /** What waits for the limit. Left out unless the request says how many tasks to examine. */
        waiting,
      }),
    ),
    /** The concurrency limit. Left out when the type has none. */
    concurrency: optional(
      open({
        /** How many runs may hold a permit at the same time. */
        max: count,
        /** The field whose values have permits of their own: a field of the input, `userId` or `fairnessKey`. */
        key: optional(text()),
        /** The value of the key whose permits are shown, as the request gave it. */
        value: optional(text()),
        /** How many permits are held. Left out when the limit has a key and the request no value of it. */
        held: optional(count),
        /** The holders of permits, longest first: at most 100. */
        holders: optional(listOf(permitHolder)),
        /** What waits for the limit. Left out unless the request says how many tasks to examine. */
        waiting,
      }),
    ),
  },
  'LimitUsage',
)

/** How much of a type's limits is used at present. */
export type LimitUsage = ValueOf<typeof limitUsage>

/** Failures of tasks and runs, grouped by type and error. */

export const failuresQuery = strict({
  /** The types whose failures are shown. @default every type */
  type: optional(listOf(typeNameRule, { max: LIST_TYPES_MAX })),
  /** The failures from the hour of this time on are shown; at most 7 days ago. @default 24 hours ago */
  since: optional(time),
  ...pageQuery.shape,
})

export type FailuresQuery = ValueOf<typeof failuresQuery>

/** Failures of one type with one error. */
const failureGroup = open(
  {
    /** The type of the tasks. */
    type: text(),
    /** Name and message of the error. A `#` stands for a quoted text or a word with a digit. */
    error: text(),
    /** How many runs failed so, also of tasks that succeeded later, and tasks that failed without a failed run. */
    count: count,
    /** When the first of these failures was counted. */
    firstAt: shownTime,
    /** When the last of these failures was counted. */
    lastAt: shownTime,
    /** The count of each hour that has failures, oldest first. */
    hours: listOf(
      open({
        /** When the hour begins. */
        at: shownTime,
        /** How many of these failures were counted in the hour. */
        count,
      }),
    ),
    /** The id of the task that failed so last. It may have been removed since. */
    exampleId: text(),
  },
  'FailureGroup',
)

export type ApiFailureGroup = ValueOf<typeof failureGroup>

/** One page of groups of failures. */
export const failuresPage = pageOf(failureGroup, 'FailurePage')
