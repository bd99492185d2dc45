import * as z from 'zod'
import { LIST_TYPES_MAX } from '../../core/bounds.ts'
import { count, cursor, limit, optional, pageOf, shownTime, strict, time, typeName } from '../scalars.ts'
import type { TypeOf } from '../type-of.ts'

/** Failures of tasks and runs, grouped by type and error. */

export const failuresQuery = strict({
  /** The types whose failures are shown. @default every type */
  type: optional(z.array(typeName).max(LIST_TYPES_MAX)),
  /** The failures from the hour of this time on are shown; at most 7 days ago. @default 24 hours ago */
  since: optional(time),
  /** The number of groups on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
})

export type FailuresQuery = TypeOf<typeof failuresQuery>

/** Failures of one type with one error. */
const failureGroup = z
  .object({
    /** The type of the tasks. */
    type: z.string(),
    /** Name and message of the error. A `#` stands for a quoted text or a word with a digit. */
    error: z.string(),
    /** How many runs failed so, also of tasks that succeeded later, and tasks that failed without a failed run. */
    count: count,
    /** When the first of these failures was counted. */
    firstAt: shownTime,
    /** When the last of these failures was counted. */
    lastAt: shownTime,
    /** The count of each hour that has failures, oldest first. */
    hours: z.array(
      z.object({
        /** When the hour begins. */
        at: shownTime,
        /** How many of these failures were counted in the hour. */
        count,
      }),
    ),
    /** The id of the task that failed so last. It may have been removed since. */
    exampleId: z.string(),
  })
  .meta({ id: 'FailureGroup' })

export type ApiFailureGroup = TypeOf<typeof failureGroup>

/** One page of groups of failures. */
export const failuresPage = pageOf(failureGroup).meta({ id: 'FailurePage' })
