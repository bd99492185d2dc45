import { EVERY_TYPE } from '../../core/bounds.ts'
import { minuteOf, minuteStart } from '../../core/place/place.ts'
import { MINUTE_SHARDS, minutePlaceName } from '../../core/place/place-names.ts'
import type { System } from '../kernel/system.ts'
import { NOTHING_SWEPT, type SweepReport, sweepEach } from '../repair/repair.ts'
import { wakeMinute, wasMinuteWoken } from '../wake/wake.ts'

/**
 * If the EventBridge schedule of a minute has not fired this long before the minute begins, it was lost. These
 * schedules are set two minutes ahead, and may fire up to one minute late. An earlier check would dispatch whole
 * minutes twice.
 */
const LOOK_AHEAD_MS = 55_000
/**
 * Rounds come every minute, so looking back further than one minute covers lost rounds. The tasks of older
 * minutes are swept as overdue tasks.
 */
const LOOK_BACK_MS = 180_000

/** The minutes that this process knows to need no repair. */
export type CheckedMinutes = Set<number>

/**
 * Wakes the far minutes whose EventBridge schedule was lost, deleted, or never created: they begin about now, have
 * tasks in their place, and left no record of having been woken. (Tasks enter the place of a far minute while it is further
 * ahead than an SQS delay reaches, 15 minutes.)
 *
 * No task enters the place of a minute in the last quarter of an hour before it, so each minute is checked once. A
 * check reads one record and, if there is none, `MINUTE_SHARDS` partitions, however many tasks wait.
 *
 * The process keeps `seen` from round to round.
 */
export async function sweepMinutes(system: System, seen: CheckedMinutes): Promise<SweepReport> {
  const now = system.clock.now()
  const from = minuteOf(now - LOOK_BACK_MS)
  for (const minute of seen) if (minute < from) seen.delete(minute)
  const minutes = []
  for (let minute = from; minuteStart(minute) <= now + LOOK_AHEAD_MS; minute++) {
    if (!seen.has(minute)) minutes.push(minute)
  }
  return sweepEach(
    minutes,
    minutes.length,
    minute => sweepMinute(system, minute, seen),
    (minute, error) => system.log.error('a far minute was not swept', { minute: minuteStart(minute), error }),
  )
}

async function sweepMinute(system: System, minute: number, seen: CheckedMinutes): Promise<SweepReport> {
  const isLost = !(await wasMinuteWoken(system, minute)) && (await hasTasks(system, minute))
  if (isLost) {
    await wakeMinute(system, minute)
    system.metrics.add('SweeperRepaired', 1, EVERY_TYPE)
    system.log.warn('woke a far minute whose EventBridge schedule did not fire', {
      minute: minuteStart(minute),
    })
  }
  seen.add(minute)
  return { ...NOTHING_SWEPT, repaired: Number(isLost) }
}

async function hasTasks({ tasks }: System, minute: number): Promise<boolean> {
  const pages = await Promise.all(
    Array.from({ length: MINUTE_SHARDS }, (_, shard) =>
      tasks.page({ index: 'place', partition: minutePlaceName(minute, shard), limit: 1 }),
    ),
  )
  return pages.some(({ entries }) => entries.length > 0)
}
