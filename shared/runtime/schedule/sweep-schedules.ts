import { EVERY_TYPE } from '../../core/bounds.ts'
import { sweepRecord } from '../../core/record-names.ts'
import { touchSchedule } from '../../core/schedule/schedule.ts'
import { isSchedule } from '../../core/task/head.ts'
import type { Schedule } from '../../core/task/head-fields.ts'
import type { IndexEntry, IndexRange } from '../../ports/stores.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import { readFromCursor } from '../repair/read-from-cursor.ts'
import { NOTHING_SWEPT, renewAgeingBodies, type SweepReport, sumOf } from '../repair/repair.ts'
import { openScheduleRanges } from './read-schedules.ts'
import { tickSchedule } from './tick-schedule.ts'

/** The waker ticks within a second, so a schedule that is due for longer has probably lost its message. */
const LATE_MS = 2_000
const PAGE_SCHEDULES = 100
/** How many schedules of one shard tick at the same time. One tick takes four calls in sequence. */
const TICKS_AT_ONCE_MAX = 10
/** A round that renews bodies reads at most this many schedules of each shard. */
const RENEWED_PER_SHARD_MAX = 100
/** The share of the rounds that renew bodies. Bodies are renewed days before they expire, so some rounds are enough. */
const RENEWAL_SHARE = 0.1
const RENEWALS_AT_ONCE_MAX = 5

/**
 * One round of the safety net for schedules: ticks schedules that are late, and renews the task bodies of other
 * schedules, which may wait for years or be paused.
 *
 * The sweeper ticks a late schedule directly instead of sending a look, so the tick needs no queue while queues are
 * down or congested. Rounds come every minute. A schedule whose message was lost ticks within 62 s of its time, and
 * within 122 s when one round is lost or comes a minute late.
 *
 * A round goes through all late schedules, the earliest due first, for up to 30 s. A schedule that cannot tick keeps
 * its position in the index and delays the others by its own calls only.
 */
export async function sweepSchedules(system: System, stopAt: number): Promise<SweepReport> {
  return sumOf(await Promise.all([tickLateSchedules(system, stopAt), renewSomeBodies(system)]))
}

async function tickLateSchedules(system: System, stopAt: number): Promise<SweepReport> {
  const now = system.clock.now()
  const ranges = openScheduleRanges({ to: now - LATE_MS })
  const all = (await sideBySide(ranges, ranges.length, range => tickRange(system, range, stopAt))).flat()
  const ticked = all.filter(({ outcome }) => outcome === 'ticked')
  if (ticked.length > 0) {
    system.metrics.add('SweeperRepaired', ticked.length, EVERY_TYPE)
    system.log.warn('ticked schedules that were late', { schedules: ticked.length, first: ticked[0]?.id })
  }
  const failed = all.filter(({ outcome }) => outcome === 'failed')
  const [first] = failed
  if (first) {
    const { id, error } = first
    system.log.error('late schedules did not tick', { schedules: failed.length, first: id, error })
  }
  return { examined: all.length, repaired: ticked.length, failed: failed.length }
}

type TickReport = {
  readonly id: string
  readonly outcome: 'ticked' | 'not-due' | 'failed'
  readonly error?: unknown
}

/**
 * Ticks the schedules of one range. The position moves past each entry that was read, whether or not its
 * schedule ticked.
 */
async function tickRange(system: System, range: IndexRange, stopAt: number): Promise<TickReport[]> {
  const swept: TickReport[] = []
  let position: IndexEntry | undefined
  do {
    const page = await system.tasks.page({
      ...range,
      limit: PAGE_SCHEDULES,
      ...(position && { after: position }),
    })
    swept.push(...(await sideBySide(page.entries, TICKS_AT_ONCE_MAX, ({ id }) => tickLate(system, id))))
    position = page.more ? page.entries.at(-1) : undefined
  } while (position && system.clock.now() < stopAt)
  return swept
}

async function tickLate(system: System, id: string): Promise<TickReport> {
  try {
    const { ticked } = await tickSchedule(system, { id })
    return { id, outcome: ticked ? 'ticked' : 'not-due' }
  } catch (error) {
    return { id, outcome: 'failed', error }
  }
}

/** Renews bodies that expire soon, in some of the rounds. */
async function renewSomeBodies(system: System): Promise<SweepReport> {
  if (system.chance.fraction() >= RENEWAL_SHARE) return NOTHING_SWEPT
  const heads = await openSchedules(system)
  await renewAgeingBodies(system, heads, RENEWALS_AT_ONCE_MAX, touchSchedule)
  return { ...NOTHING_SWEPT, examined: heads.length }
}

/** The next schedules of each shard, from where the last round stopped. */
async function openSchedules(system: System): Promise<Schedule[]> {
  const ranges = openScheduleRanges()
  const found = await sideBySide(ranges, ranges.length, (range, shard) =>
    readFromCursor(system, sweepRecord.schedules(shard), range, RENEWED_PER_SHARD_MAX),
  )
  const ids = new Set(found.flat().map(({ id }) => id))
  return ids.size > 0 ? (await system.tasks.heads([...ids])).filter(isSchedule) : []
}
