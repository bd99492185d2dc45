import * as z from 'zod'
import { ACTIVITY_MINUTES_MAX, LIST_TYPES_MAX } from '../../core/bounds.ts'
import {
  count,
  cursor,
  limit,
  name,
  optional,
  pageOf,
  shownTime,
  strict,
  typeName,
  whole,
} from '../scalars.ts'
import type { TypeOf } from '../type-of.ts'
import { countsAnswer } from '../types.ts'

/** What types have to do: the numbers of their tasks, their activity by the minute, and the usage of their limits. */

const COUNTED_MAX = 1_000_000

const atMost = optional(whole(1, COUNTED_MAX))

export const countsQuery = strict({
  /** Counts up to this number. A count of this number means so many tasks or more. @default every task is counted */
  atMost,
})

export type CountsQuery = TypeOf<typeof countsQuery>

export const allCountsQuery = strict({
  /** Counts up to this number. A count of this number means so many tasks or more. @default 1000 */
  atMost,
  /** The number of types on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
})

export type AllCountsQuery = TypeOf<typeof allCountsQuery>

const typeCounts = z
  .object({
    /** The name of the type. */
    type: z.string(),
    /** The numbers of the type's tasks, by status. */
    counts: countsAnswer,
  })
  .meta({ id: 'TypeCounts' })

/** The numbers of the tasks of a type, by status. */
export type TypeCounts = TypeOf<typeof typeCounts>

export const allCountsPage = pageOf(typeCounts)

export const activityQuery = strict({
  /** The types whose activity is shown. @default all types, page by page */
  type: optional(z.array(typeName).max(LIST_TYPES_MAX)),
  /** How many minutes are shown. The present minute, which has not ended, is the last of them. @default 60 */
  minutes: optional(whole(1, ACTIVITY_MINUTES_MAX)),
  /** The number of types on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
})

export type ActivityQuery = TypeOf<typeof activityQuery>

const lateness = z.object({
  /** Half of the runs started within this many milliseconds of the time at which they could. */
  p50Ms: count,
  /** 95 of 100 runs started within this many milliseconds of the time at which they could. */
  p95Ms: count,
})

const minute = z.object({
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

const typeActivity = z
  .object({
    /** The name of the type. */
    type: z.string(),
    /** Minutes without activity are left out. */
    minutes: z.array(minute),
    /** The lateness over all minutes that are shown. */
    lateness: optional(lateness),
  })
  .meta({ id: 'TypeActivity' })

/** What the tasks of a type did, minute by minute. */
export type ApiTypeActivity = TypeOf<typeof typeActivity>
export type ApiMinute = TypeOf<typeof minute>

export const activityPage = pageOf(typeActivity).extend({ from: shownTime, to: shownTime })

export type ActivityPage = TypeOf<typeof activityPage>

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
})

export type LimitUsageQuery = TypeOf<typeof limitUsageQuery>

const permitHolder = z.object({
  /** The id of the task whose run holds the permit. */
  taskId: z.string(),
  /** When the run took the permit. */
  since: shownTime,
})

export const limitUsage = z
  .object({
    /** The name of the type. */
    type: z.string(),
    /** The rate limit. Left out when the type has none. */
    rate: optional(
      z.object({
        /** How many runs may start within `perMs`. */
        limit: count,
        /** The time within which `limit` runs may start, in milliseconds. */
        perMs: count,
        /** The field whose values have slots of their own: a field of the input, `userId` or `fairnessKey`. */
        key: optional(z.string()),
        /** The value of the key whose slots are shown, as the request gave it. */
        value: optional(z.string()),
        /** When the next free slot begins; the time of the answer when a task may start at once. Left out when the limit has a key and the request no value of it. */
        nextSlotAt: optional(shownTime),
      }),
    ),
    /** The concurrency limit. Left out when the type has none. */
    concurrency: optional(
      z.object({
        /** How many runs may hold a permit at the same time. */
        max: count,
        /** The field whose values have permits of their own: a field of the input, `userId` or `fairnessKey`. */
        key: optional(z.string()),
        /** The value of the key whose permits are shown, as the request gave it. */
        value: optional(z.string()),
        /** How many permits are held. Left out when the limit has a key and the request no value of it. */
        held: optional(count),
        /** The holders of permits, longest first: at most 100. */
        holders: optional(z.array(permitHolder)),
      }),
    ),
  })
  .meta({ id: 'LimitUsage' })

/** How much of a type's limits is used at present. */
export type LimitUsage = TypeOf<typeof limitUsage>
