import { EVERY_TYPE } from '../../core/bounds.ts'
import { minuteOf, minuteStart } from '../../core/place/place.ts'
import { MINUTE_SHARDS, minutePlaceName } from '../../core/place/place-names.ts'
import type { System } from '../kernel/system.ts'
import { wakeMinute, wasMinuteWoken } from '../wake/wake.ts'

/**
 * A minute whose schedule has not fired so shortly before it begins has lost it: schedules are set two minutes ahead, and
 * Scheduler takes up to one of them. Looking any earlier would dispatch whole minutes twice.
 */
const AHEAD_MS = 55_000
/** Rounds come every minute; looking back further than one covers rounds that were lost. What is older is swept as overdue. */
const BACK_MS = 180_000

/** The minutes that this process knows to need no repair. */
export type CheckedMinutes = Set<number>

export type MinutesReport = { readonly repaired: number; readonly failed: number }

/**
 * Wakes the far minutes whose schedule was lost, deleted, or never created: those that begin about now, have tasks in
 * their place, and left no record of having fired. Nothing enters the place of a minute in its last quarter of an hour,
 * so each is looked at once: a round reads 1 record and, if there is none, `MINUTE_SHARDS` partitions, whatever waits.
 *
 * `seen` is kept from round to round by its process.
 */
export async function sweepMinutes(system: System, seen: CheckedMinutes): Promise<MinutesReport> {
  const now = system.clock.now()
  const from = minuteOf(now - BACK_MS)
  for (const minute of seen) if (minute < from) seen.delete(minute)
  const minutes = []
  for (let minute = from; minuteStart(minute) <= now + AHEAD_MS; minute++) {
    if (!seen.has(minute)) minutes.push(minute)
  }
  const reports = await Promise.all(minutes.map(minute => sweepMinute(system, minute, seen)))
  return { repaired: sum(reports, 'repaired'), failed: sum(reports, 'failed') }
}

async function sweepMinute(system: System, minute: number, seen: CheckedMinutes): Promise<MinutesReport> {
  try {
    const isLost = !(await wasMinuteWoken(system, minute)) && (await isAnyoneThere(system, minute))
    if (isLost) {
      await wakeMinute(system, minute)
      system.metrics.add('SweeperRepaired', 1, EVERY_TYPE)
      system.log.warn('woke a far minute whose schedule did not fire', { minute: minuteStart(minute) })
    }
    seen.add(minute)
    return { repaired: Number(isLost), failed: 0 }
  } catch (error) {
    system.log.error('a far minute was not swept', { minute: minuteStart(minute), error })
    return { repaired: 0, failed: 1 }
  }
}

async function isAnyoneThere({ tasks }: System, minute: number): Promise<boolean> {
  const pages = await Promise.all(
    Array.from({ length: MINUTE_SHARDS }, (_, shard) =>
      tasks.page({ index: 'place', partition: minutePlaceName(minute, shard), limit: 1 }),
    ),
  )
  return pages.some(({ entries }) => entries.length > 0)
}

function sum(reports: readonly MinutesReport[], name: keyof MinutesReport): number {
  return reports.reduce((total, report) => total + report[name], 0)
}
