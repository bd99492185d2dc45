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

const atMost = optional(whole(1, COUNTED_MAX)).describe(
  'Counts up to this number. A count of this number means so many tasks or more. Every task is counted when left out.',
)

export const countsQuery = strict({ atMost })

export type CountsQuery = TypeOf<typeof countsQuery>

export const allCountsQuery = strict({ atMost, limit: optional(limit), cursor: optional(cursor) })

export type AllCountsQuery = TypeOf<typeof allCountsQuery>

const typeCounts = z.object({ type: z.string(), counts: countsAnswer }).meta({ id: 'TypeCounts' })

/** The numbers of the tasks of a type, by status. */
export type TypeCounts = TypeOf<typeof typeCounts>

export const allCountsPage = pageOf(typeCounts)

export const activityQuery = strict({
  /** The types whose activity is shown; all types, page by page, when left out. */
  type: optional(z.array(typeName).max(LIST_TYPES_MAX)).describe(
    'The types whose activity is shown; all types, page by page, when left out.',
  ),
  /** How many minutes are shown. The present minute, which has not ended, is the last of them. 60 when left out. */
  minutes: optional(whole(1, ACTIVITY_MINUTES_MAX)).describe(
    'How many minutes are shown. The present minute, which has not ended, is the last of them. 60 when left out.',
  ),
  limit: optional(limit),
  cursor: optional(cursor),
})

export type ActivityQuery = TypeOf<typeof activityQuery>

const lateness = z.object({ p50Ms: count, p95Ms: count })

const minute = z.object({
  at: shownTime,
  published: count,
  /** Runs that started, of new tasks and of retries. */
  started: count.describe('Runs that started, of new tasks and of retries.'),
  succeeded: count,
  failed: count,
  cancelled: count,
  /** How long runs could have started before they did. Each number is rounded up to a power of two. Left out when no run started. */
  lateness: optional(lateness).describe(
    'How long runs could have started before they did. Each number is rounded up to a power of two. Left out when no run started.',
  ),
})

const typeActivity = z
  .object({
    type: z.string(),
    /** Minutes without activity are left out. */
    minutes: z.array(minute).describe('Minutes without activity are left out.'),
    /** The lateness over all minutes that are shown. */
    lateness: optional(lateness).describe('The lateness over all minutes that are shown.'),
  })
  .meta({ id: 'TypeActivity' })

/** What the tasks of a type did, minute by minute. */
export type ApiTypeActivity = TypeOf<typeof typeActivity>
export type ApiMinute = TypeOf<typeof minute>

export const activityPage = pageOf(typeActivity).extend({ from: shownTime, to: shownTime })

export type ActivityPage = TypeOf<typeof activityPage>

const VALUE_CHARACTERS_MAX = 1_000

export const limitUsageQuery = strict({
  /** The value of the limits' key. A limit with a key has permits and slots of its own for each value. */
  value: optional(name(VALUE_CHARACTERS_MAX)).describe(
    "The value of the limits' key. A limit with a key has permits and slots of its own for each value.",
  ),
})

export type LimitUsageQuery = TypeOf<typeof limitUsageQuery>

const permitHolder = z.object({ taskId: z.string(), since: shownTime })

export const limitUsage = z
  .object({
    type: z.string(),
    rate: optional(
      z.object({
        limit: count,
        perMs: count,
        key: optional(z.string()),
        /** When the next free slot begins; the time of the answer when a task may start at once. Left out while the key has no value. */
        nextSlotAt: optional(shownTime).describe(
          'When the next free slot begins; the time of the answer when a task may start at once. Left out while the key has no value.',
        ),
      }),
    ),
    concurrency: optional(
      z.object({
        max: count,
        key: optional(z.string()),
        /** How many permits are held. Left out while the key has no value. */
        held: optional(count).describe('How many permits are held. Left out while the key has no value.'),
        /** The holders of permits, longest first: at most 100. */
        holders: optional(z.array(permitHolder)).describe(
          'The holders of permits, longest first: at most 100.',
        ),
      }),
    ),
  })
  .meta({ id: 'LimitUsage' })

/** How much of a type's limits is used at present. */
export type LimitUsage = TypeOf<typeof limitUsage>
