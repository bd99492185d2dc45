/**
 * Failures are counted from the table's stream (`countFailures`) and read as groups of one type and error (`readFailures`).
 * `core/events/failures.ts` says what counts.
 */

import { addedUp, type FailureCount, failuresIn, hourOf } from '../../core/events/failures.ts'
import { type Head, isTask } from '../../core/task/head.ts'
import { groupBy } from '../../core/values/records.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { type Batch, countableChanges } from '../stream.ts'

const WRITES_AT_ONCE_MAX = 10
const READS_AT_ONCE_MAX = 10
/** One answer adds up at most this many hourly counts, of some 300 bytes each: some 190 read units. */
export const FAILURE_COUNTS_MAX = 5_000

type Change = { readonly task: Head; readonly position: string }

/**
 * Counts the failures in a batch of the stream. As outcomes are, they are counted up to the first record that Lambda must deliver
 * again, so a failure counts once, unless the process dies before Lambda has its answer. A count that cannot be written is lost and
 * logged: it must not hold up the stream.
 */
export async function countFailures(
  { failures, log }: Pick<System, 'failures' | 'log'>,
  changes: readonly Change[],
  batch: Batch,
): Promise<void> {
  const found = countableChanges(changes, batch).flatMap(({ task }) => {
    if (!isTask(task)) return []
    try {
      return failuresIn(task)
    } catch (error) {
      log.warn('the failures of a task cannot be read', { error, taskId: task.id })
      return []
    }
  })
  const counts = addedUp(found, ({ type, hour, error }) => JSON.stringify([type, hour, error]))
  await sideBySide(counts, WRITES_AT_ONCE_MAX, async count => {
    try {
      await failures.add(count)
    } catch (error) {
      log.warn('failures were not counted', { error, type: count.type, count: count.count })
    }
  })
}

/** Failures of one type with one error: their sum, and the numbers of the hours with failures, oldest first. */
export type FailureGroup = Omit<FailureCount, 'hour'> & {
  readonly hours: ReadonlyArray<{ readonly hour: number; readonly count: number }>
}

/**
 * Reads the failures of these types since the beginning of an hour, in groups of one type and error, those with the most failures
 * first. Undefined when there are too many counts to add up.
 */
export async function readFailures(
  { failures }: Pick<System, 'failures'>,
  types: readonly string[],
  since: number,
): Promise<FailureGroup[] | undefined> {
  let left = FAILURE_COUNTS_MAX
  const read = await sideBySide(types, READS_AT_ONCE_MAX, async type => {
    if (left < 0) return []
    const counts = await failures.since(type, hourOf(since), left + 1)
    left -= counts.length
    return counts
  })
  if (left < 0) return undefined
  const counts = read.flat()
  const hours = groupBy(counts, groupOf)
  return addedUp(counts, groupOf)
    .sort((a, b) => b.count - a.count || b.lastAt - a.lastAt)
    .map(({ hour: _hour, ...group }) => ({ ...group, hours: hoursOf(hours.get(groupOf(group)) ?? []) }))
}

function groupOf({ type, error }: Pick<FailureCount, 'type' | 'error'>): string {
  return JSON.stringify([type, error])
}

function hoursOf(counts: readonly FailureCount[]): FailureGroup['hours'] {
  return counts.map(({ hour, count }) => ({ hour, count })).sort((a, b) => a.hour - b.hour)
}
