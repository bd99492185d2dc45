import { ERROR_FILTER_CHARACTERS_MAX } from '../core/bounds.ts'
import { anyOf, listOf, open, optional, recordOf, strict } from '../core/rules/compound.ts'
import type { ValueOf } from '../core/rules/rules.ts'
import { flag, name, oneOf, text, time } from '../core/rules/scalars.ts'
import { typeNameRule } from '../core/rules/type-configuration.ts'
import { STATUSES } from '../core/states.ts'
import { count, pageOf, shownTime, userId } from './scalars.ts'
import { canvasId, tagFilters } from './tasks.ts'

/** Bulk operations: one action on many tasks, which a job on the server does. */

const action = oneOf('retry', 'cancel', 'remove', 'replay')
const status = oneOf(...STATUSES)

export const bulkBody = strict(
  {
    /** What is done to each task. `replay` sends the dead letters of the type's queue again. */
    action,
    /** The type of the tasks. */
    type: typeNameRule,
    /**
     * The statuses of the tasks: for `retry` succeeded, failed or cancelled; for `cancel` delayed, ready or running; for `remove` any. A
     * replay has none. @default none, which only a replay may have
     */
    status: optional(anyOf('a status, or a list of them', [status, listOf(status, { min: 1 })])),
    /**
     * Only ended tasks that ended from this time on, open ones that are due from it on, dead letters that arrived from it on. @default no
     * bound
     */
    since: optional(time),
    /** Only those before this time, which must be later than `since`. @default no bound */
    until: optional(time),
    /** Only tasks whose error contains this text, in its name or its message, in upper or lower case. @default any error, or none */
    error: optional(name(ERROR_FILTER_CHARACTERS_MAX)),
    /** Only tasks of this user. A replay has none. @default the tasks of every user */
    userId: optional(userId),
    /** Only members of this canvas. A replay has none. @default tasks of any canvas, or of none */
    canvasId: optional(canvasId),
    /** Only tasks with each of these tags, as `name:value`. A replay has none. @default any tags */
    tags: optional(tagFilters),
    /** Whether the tasks are only counted. @default false */
    dryRun: optional(flag()),
  },
  'BulkRequest',
)

/** Which tasks a bulk operation acts on, and how. */
export type BulkBody = ValueOf<typeof bulkBody>

export const bulkStarted = open(
  {
    /** The id of the bulk operation. */
    id: text(),
  },
  'BulkStarted',
)

/** Names a bulk operation that has begun. */
export type BulkStarted = ValueOf<typeof bulkStarted>

export const bulkAnswer = open(
  {
    /** The id of the bulk operation. */
    id: text(),
    /** Whether it is still under way. */
    state: oneOf('running', 'finished'),
    /** What is done to each task. */
    action,
    /** The type of the tasks. */
    type: text(),
    /** The statuses of the tasks; empty for a replay. */
    status: listOf(status),
    /** The time from which on tasks are selected. */
    since: optional(shownTime),
    /** The time before which tasks are selected. */
    until: optional(shownTime),
    /** The text that the errors of the tasks contain. */
    error: optional(text()),
    /** The user of the tasks. */
    userId: optional(text()),
    /** The canvas of the tasks. */
    canvasId: optional(text()),
    /** The tags that each of the tasks has. */
    tags: optional(listOf(text())),
    /** Whether the tasks are only counted. */
    dryRun: flag(),
    /** The caller that asked for it. */
    by: optional(text()),
    /** When it was asked for. */
    createdAt: shownTime,
    /** When its last page was done. */
    updatedAt: shownTime,
    /** When it finished. */
    finishedAt: optional(shownTime),
    /** How many tasks or dead letters were read. */
    examined: count,
    /** How many of them fit the request. */
    selected: count,
    /** For how many of these the action was done; 0 for a dry run. */
    done: count,
    /**
     * How many of these were left out, by the reason: `needs-attention` (an operator must decide about each), `changed` (the task has changed
     * meanwhile), `open-canvas` (an open canvas still needs the result), or the reason for which the same action on one task is refused.
     */
    leftOut: recordOf(count),
  },
  'Bulk',
)

/** A bulk operation with its progress, and its outcome once it is finished. Kept for 30 days. */
export type ApiBulk = ValueOf<typeof bulkAnswer>

/** The last bulk operations, latest first. */
export const bulkList = pageOf(bulkAnswer)
