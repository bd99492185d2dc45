/**
 * Failures are counted by type, error and hour, where the table's stream is read. A success costs nothing. A failure costs a share
 * of one write: all failures of a batch that have the same type, error and hour share it.
 *
 * The runs of a head say which failures a change has brought. A failed run counts at once, so it counts even if its task succeeds
 * later. A task that fails without a failed run, at its deadline, counts once.
 *
 * Errors are grouped by their masked text: what differs from task to task, such as numbers, ids and quoted texts, becomes `#`.
 */

import type { Operation } from '../task/head-fields.ts'
import { endedRuns, type Task } from '../task/task.ts'
import { groupSums } from '../values/values.ts'

export const HOUR_MS = 3_600_000
/** Counts are kept a day longer than the earliest time that a caller may ask for. */
export const FAILURES_SINCE_MS_MAX = 7 * 24 * HOUR_MS
const FAILURES_KEPT_MS = FAILURES_SINCE_MS_MAX + 24 * HOUR_MS
/** A masked error is part of a key, which may have 1,024 bytes. */
const MASKED_CHARACTERS_MAX = 200
/** Longer messages are cut before they are masked. */
const MESSAGE_CHARACTERS_MAX = 1_000

/** The failures of one type with one error within one hour. Times in ms. */
export type FailureCount = {
  readonly type: string
  /** Name and message, masked. */
  readonly error: string
  /** The start of the hour. */
  readonly hour: number
  readonly count: number
  readonly firstAt: number
  readonly lastAt: number
  /** The id of a task that failed so. */
  readonly exampleId: string
}

const FAILING: ReadonlySet<Operation> = new Set(['fail', 'expire'])
const LOSING: ReadonlySet<Operation> = new Set(['lose', 'claim', 'expire'])

const LOST = { name: 'LeaseLost', message: 'the worker sent no heartbeat until its lease had ended' }
const UNKNOWN = { name: 'Error', message: 'no error is recorded' }

/** The failures that the last change of the task has brought, one for each run. */
export function failuresIn(task: Task): FailureCount[] {
  const { operation, updatedAt } = task
  const runs = endedRuns(task).filter(({ endedAt, state }) => {
    if (endedAt !== updatedAt) return false
    return (state === 'failed' && FAILING.has(operation)) || (state === 'lost' && LOSING.has(operation))
  })
  if (runs.length > 0) {
    return runs.map(({ state, error }) =>
      failureOf(task, error ?? (state === 'lost' ? LOST : (task.error ?? UNKNOWN))),
    )
  }
  const failsNow = FAILING.has(operation) && task.state === 'failed' && task.finishedAt === updatedAt
  return failsNow ? [failureOf(task, task.error ?? UNKNOWN)] : []
}

function failureOf(
  { id, type, updatedAt }: Task,
  error: { readonly name: string; readonly message: string },
): FailureCount {
  const hour = hourOf(updatedAt)
  return {
    type,
    error: maskedError(error),
    hour,
    count: 1,
    firstAt: updatedAt,
    lastAt: updatedAt,
    exampleId: id,
  }
}

/** The start of the hour in which the time lies. */
export function hourOf(at: number): number {
  return at - (at % HOUR_MS)
}

export function failuresExpireAt({ lastAt }: Pick<FailureCount, 'lastAt'>): number {
  return lastAt + FAILURES_KEPT_MS
}

/** Quoted text on one line. An apostrophe within a word quotes nothing. */
const QUOTED = /"[^"\n]*"|`[^`\n]*`|(?<![\p{L}\d])'[^'\n]*'(?![\p{L}\d])/gu
/** Words with a digit: numbers, dates, UUIDs, hexadecimal texts and most ids. */
const WITH_DIGIT = /[\p{L}\d_-]*\d[\p{L}\d_-]*/gu

/** The name and the message of an error, with `#` in place of quoted texts and of words that have a digit. */
export function maskedError({ name, message }: { readonly name: string; readonly message: string }): string {
  const line = message.slice(0, MESSAGE_CHARACTERS_MAX).replace(/\s+/g, ' ').trim()
  const masked = `${name}: ${line}`.replace(QUOTED, '#').replace(WITH_DIGIT, '#')
  return masked.slice(0, MASKED_CHARACTERS_MAX).toWellFormed()
}

/** The counts, where counts of the same group are added up. `groupOf` names the group of a count. */
export function sumByGroup(
  counts: readonly FailureCount[],
  groupOf: (count: FailureCount) => string,
): FailureCount[] {
  return groupSums(counts, groupOf, sumOfTwo)
}

function sumOfTwo(one: FailureCount, other: FailureCount): FailureCount {
  const later = other.lastAt >= one.lastAt ? other : one
  return { ...later, count: one.count + other.count, firstAt: Math.min(one.firstAt, other.firstAt) }
}
