import { LIST_TYPES_MAX } from '../../core/bounds.ts'
import { listOf, open, optional, strict } from '../../core/rules/compound.ts'
import type { ValueOf } from '../../core/rules/rules.ts'
import { text, time } from '../../core/rules/scalars.ts'
import { typeNameRule } from '../../core/rules/type-configuration.ts'
import { count, cursor, limit, pageOf, shownTime } from '../scalars.ts'

/** Failures of tasks and runs, grouped by type and error. */

export const failuresQuery = strict({
  /** The types whose failures are shown. @default every type */
  type: optional(listOf(typeNameRule, { max: LIST_TYPES_MAX })),
  /** The failures from the hour of this time on are shown; at most 7 days ago. @default 24 hours ago */
  since: optional(time),
  /** The number of groups on a page. @default 20 */
  limit: optional(limit),
  /** The `nextCursor` of the page before. @default the first page */
  cursor: optional(cursor),
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
