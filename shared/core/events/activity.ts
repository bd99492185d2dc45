/**
 * The activity of a type: how many of its tasks were published, started and ended in a minute, and how late their runs started. It is
 * counted where the table's stream is read, so no change of a task waits for it. Batches of the stream share their writes.
 *
 * Lateness is counted in classes that double: class 0 is up to 1 ms, class 1 up to 2 ms, class 10 up to 1.024 s. Classes add up over
 * minutes and types, and a percentile of them is at most twice the true one.
 */

import { ACTIVITY_MINUTES_MAX } from '../bounds.ts'
import { minuteOf, minuteStart } from '../place/place.ts'
import type { EventType } from '../states.ts'
import { openSince } from '../task/piece.ts'
import { endedRuns, type Task } from '../task/task.ts'
import { groupSums } from '../values/values.ts'
import { eventsOf } from './events.ts'

export const MINUTE_MS = 60_000
/** DynamoDB may delete an expired count days late. So counts are kept twice as long as they are shown, and only shown by their minute. */
const ACTIVITY_KEPT_MS = 2 * ACTIVITY_MINUTES_MAX * MINUTE_MS
/** The class of everything from 24 days on. */
const LATENESS_CLASS_MAX = 31

/** What a count of activity counts. */
export const ACTIVITY_KINDS = ['published', 'started', 'succeeded', 'failed', 'cancelled'] as const
type ActivityKind = (typeof ACTIVITY_KINDS)[number]

export type ActivityCount = {
  readonly type: string
  /** The start of the minute, in ms. */
  readonly minute: number
  /** Kinds that did not occur are left out. */
  readonly counts: Readonly<Partial<Record<ActivityKind, number>>>
  /** How many runs started with a lateness of each class. */
  readonly lateness: Readonly<Record<number, number>>
}

const KIND_OF_EVENT: Partial<Record<EventType, ActivityKind>> = {
  'task.published': 'published',
  'task.running': 'started',
  'task.succeeded': 'succeeded',
  'task.failed': 'failed',
  'task.cancelled': 'cancelled',
}

/** What the last change of a task adds to the activity of its type and minute. Undefined for a change that adds nothing. */
export function activityIn(task: Task): ActivityCount | undefined {
  const kinds = eventsOf(task).flatMap(({ type }) => KIND_OF_EVENT[type] ?? [])
  if (kinds.length === 0) return undefined
  const late = kinds.includes('started') ? latenessOf(task) : undefined
  return {
    type: task.type,
    minute: beginningOfMinute(task.updatedAt),
    counts: Object.fromEntries(kinds.map(kind => [kind, 1])),
    lateness: late === undefined ? {} : { [latenessClass(late)]: 1 },
  }
}

/** How long the run that has just started could have started before: since the due time, or since the end of the run before it. */
function latenessOf(task: Task): number {
  const ends = endedRuns(task).map(({ endedAt }) => endedAt)
  return Math.max(0, task.updatedAt - Math.max(openSince(task), ...ends))
}

export function latenessClass(ms: number): number {
  return ms <= 1 ? 0 : Math.min(LATENESS_CLASS_MAX, Math.ceil(Math.log2(ms)))
}

/** The lateness that this share of the started runs did not exceed, rounded up to the bound of its class. Undefined without runs. */
export function latenessAt(lateness: ActivityCount['lateness'], share: number): number | undefined {
  const classes = Object.entries(lateness)
    .map(([nth, count]) => [Number(nth), count] as const)
    .sort(([a], [b]) => a - b)
  const wanted = share * classes.reduce((sum, [, count]) => sum + count, 0)
  let seen = 0
  for (const [nth, count] of classes) {
    seen += count
    if (seen >= wanted) return 2 ** nth
  }
  return undefined
}

/** The beginning of the minute that contains a time, in ms. */
export function beginningOfMinute(at: number): number {
  return minuteStart(minuteOf(at))
}

export function activityExpiresAt({ minute }: Pick<ActivityCount, 'minute'>): number {
  return minute + ACTIVITY_KEPT_MS
}

/** The counts of the same type and minute, added up. */
export function sumByTypeAndMinute(counts: readonly ActivityCount[]): ActivityCount[] {
  return groupSums(counts, ({ type, minute }) => `${type}#${minute}`, sumOfTwo)
}

function sumOfTwo(one: ActivityCount, other: ActivityCount): ActivityCount {
  const [counts, lateness] = [sumByName(one.counts, other.counts), sumByName(one.lateness, other.lateness)]
  return { ...one, counts, lateness }
}

function sumByName<Name extends PropertyKey>(
  one: Readonly<Partial<Record<Name, number>>>,
  other: Readonly<Partial<Record<Name, number>>>,
): Record<Name, number> {
  const sum = { ...one } as Record<Name, number>
  for (const [name, count] of Object.entries(other) as Array<[Name, number]>) {
    sum[name] = (sum[name] ?? 0) + count
  }
  return sum
}
