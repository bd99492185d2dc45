import * as z from 'zod'
import { LIST_TYPES_MAX } from '../../core/bounds.ts'
import { count, cursor, limit, optional, pageOf, shownTime, strict, time, typeName } from '../scalars.ts'
import type { TypeOf } from '../type-of.ts'

/** Failures of tasks and runs, grouped by type and error. */

export const failuresQuery = strict({
  /** The types whose failures are shown; those of every type when left out. */
  type: optional(z.array(typeName).max(LIST_TYPES_MAX)).describe(
    'The types whose failures are shown; those of every type when left out.',
  ),
  /** The failures from the hour of this time on; those of the last 24 hours when left out. At most 7 days ago. */
  since: optional(time).describe(
    'The failures from the hour of this time on; those of the last 24 hours when left out. At most 7 days ago.',
  ),
  limit: optional(limit),
  cursor: optional(cursor),
})

export type FailuresQuery = TypeOf<typeof failuresQuery>

const failureGroup = z
  .object({
    type: z.string(),
    /** Name and message of the error. A `#` stands for a quoted text or a word with a digit. */
    error: z
      .string()
      .describe('Name and message of the error. A `#` stands for a quoted text or a word with a digit.'),
    /** How many runs failed so, also of tasks that succeeded later, and tasks that failed without a failed run. */
    count: count.describe(
      'How many runs failed so, also of tasks that succeeded later, and tasks that failed without a failed run.',
    ),
    firstAt: shownTime,
    lastAt: shownTime,
    /** The count of each hour that has failures, oldest first. */
    hours: z
      .array(z.object({ at: shownTime, count }))
      .describe('The count of each hour that has failures, oldest first.'),
    /** The id of the task that failed so last. It may have been removed since. */
    exampleId: z.string().describe('The id of the task that failed so last. It may have been removed since.'),
  })
  .meta({ id: 'FailureGroup' })

export type ApiFailureGroup = TypeOf<typeof failureGroup>

export const failuresPage = pageOf(failureGroup)
