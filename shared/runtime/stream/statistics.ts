/**
 * The activity of types is counted from the table's stream (`createActivityMeter`) and read by the minute (`readActivity`).
 * `core/events/activity.ts` says what counts.
 */

import type { ActivityCount } from '../../core/events/activity.ts'
import { activityAddedUp, activityIn, beginningOfMinute, MINUTE_MS } from '../../core/events/activity.ts'
import { addedUp, type FailureCount, failuresIn, hourOf } from '../../core/events/failures.ts'
import { isTask } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import { groupBy } from '../../core/values/values.ts'
import { sideBySide } from '../kernel/heads.ts'
import type { ActivitySystem, System } from '../kernel/system.ts'
import { type Batch, countableChanges, type TaskChange } from './stream.ts'

const WRITES_AT_ONCE_MAX = 10
const READS_AT_ONCE_MAX = 10
/** A meter writes the counts of a type this often at once. A type with few tasks is thus shown at once. */
export const WRITES_IN_A_ROW_MAX = 10
/** Publishes and starts are held until a task of the type ends, or until a batch comes after this time. So a lone task costs one write. */
export const HELD_WITHOUT_END_MS = 5_000
/** After those, a meter writes the counts of a type at most this often, and holds what comes in between. */
export const WRITE_INTERVAL_MS = 1_000

export type ActivityMeter = {
  /** Counts a batch of the stream. A count that cannot be written is lost and logged: it must not hold up the stream. */
  count(changes: readonly TaskChange[], batch: Batch): Promise<void>
}

type Held = {
  counts: ActivityCount[]
  /** The time of the first count that is held. */
  since: number
  /** How many writes may follow at once at the time `at`. */
  writes: number
  at: number
}

/**
 * Creates the meter of one process. A lone task costs one write. A busy type costs one write a second and process, however many of its tasks
 * change. Counts that a meter holds are written with a later batch. Those that it still holds when its process ends are lost: at most the
 * last second of a burst, and publishes and starts after the last end.
 */
export function createActivityMeter(system: ActivitySystem & Pick<System, 'clock' | 'log'>): ActivityMeter {
  const held = new Map<string, Held>()
  return {
    count: async (changes, batch) => {
      const now = system.clock.now()
      const read = (task: Task) => activityIn(task) ?? []
      for (const one of readEach(system, countableChanges(changes, batch), 'activity', read))
        hold(held, one, now)
      const due = [...held].flatMap(([type, of]) => takeDue(held, type, of, now))
      await sideBySide(due, WRITES_AT_ONCE_MAX, count => write(system, count))
    },
  }
}

function hold(held: Map<string, Held>, count: ActivityCount, now: number): void {
  const of = held.get(count.type) ?? { counts: [], since: now, writes: WRITES_IN_A_ROW_MAX, at: now }
  if (of.counts.length === 0) of.since = now
  of.counts = activityAddedUp([...of.counts, count])
  held.set(count.type, of)
}

/** Takes the counts of a type that may be written now. A type that has been quiet is forgotten. */
function takeDue(held: Map<string, Held>, type: string, of: Held, now: number): ActivityCount[] {
  const regained = Math.floor((now - of.at) / WRITE_INTERVAL_MS)
  if (regained > 0) {
    of.writes = Math.min(WRITES_IN_A_ROW_MAX, of.writes + regained)
    of.at += regained * WRITE_INTERVAL_MS
  }
  if (of.counts.length === 0) {
    if (of.writes === WRITES_IN_A_ROW_MAX) held.delete(type)
    return []
  }
  const isDue = of.counts.some(hasEnd) || now - of.since >= HELD_WITHOUT_END_MS
  if (of.writes === 0 || !isDue) return []
  const due = of.counts
  of.writes -= 1
  of.counts = []
  return due
}

function hasEnd({ counts }: ActivityCount): boolean {
  return [counts.succeeded, counts.failed, counts.cancelled].some(count => count !== undefined)
}

async function write({ activity, log }: ActivitySystem & Pick<System, 'log'>, count: ActivityCount) {
  try {
    await activity.add(count)
  } catch (error) {
    log.warn('the activity of a type was not counted', { error, type: count.type })
  }
}

/** The activity of one type, oldest minute first. Minutes without activity are left out. */
export type TypeActivity = { readonly type: string; readonly minutes: readonly ActivityCount[] }

/** The first of the last `minutes` minutes, of which the present one is the last. */
export function firstMinute(now: number, minutes: number): number {
  return beginningOfMinute(now) - (minutes - 1) * MINUTE_MS
}

/** Reads the activity of these types from a minute on: some 0.5 read units for 20 minutes of a type. */
export async function readActivity(
  { activity }: ActivitySystem,
  types: readonly string[],
  from: number,
): Promise<TypeActivity[]> {
  return sideBySide(types, READS_AT_ONCE_MAX, async type => ({
    type,
    minutes: await activity.since(type, from),
  }))
}

/**
 * Failures are counted from the table's stream (`countFailures`) and read as groups of one type and error (`readFailures`).
 * `core/events/failures.ts` says what counts.
 */

/** One answer adds up at most this many hourly counts, of some 300 bytes each: some 190 read units. */
export const FAILURE_COUNTS_MAX = 5_000

/**
 * Counts the failures in a batch of the stream. As outcomes are, they are counted up to the first record that Lambda must deliver
 * again, so a failure counts once, unless the process dies before Lambda has its answer. A count that cannot be written is lost and
 * logged: it must not hold up the stream.
 */
export async function countFailures(
  { failures, log }: Pick<System, 'failures' | 'log'>,
  changes: readonly TaskChange[],
  batch: Batch,
): Promise<void> {
  const found = readEach({ log }, countableChanges(changes, batch), 'failures', failuresIn)
  const counts = addedUp(found, ({ type, hour, error }) => JSON.stringify([type, hour, error]))
  await sideBySide(counts, WRITES_AT_ONCE_MAX, async count => {
    try {
      await failures.add(count)
    } catch (error) {
      log.warn('failures were not counted', { error, type: count.type, count: count.count })
    }
  })
}

/** What is read of each task that has changed. A task that cannot be read is logged, and counts for nothing. */
function readEach<Count>(
  { log }: Pick<System, 'log'>,
  changes: readonly TaskChange[],
  what: 'activity' | 'failures',
  read: (task: Task) => Count | readonly Count[],
): Count[] {
  return changes.flatMap(({ task }) => {
    if (!isTask(task)) return []
    try {
      return read(task)
    } catch (error) {
      log.warn(`the ${what} of a task cannot be read`, { error, taskId: task.id })
      return []
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
