import { bodiesExpiringBefore } from '../../core/body.ts'
import { isTicking, touchSchedule } from '../../core/schedule/transitions.ts'
import type { Task } from '../../core/task.ts'
import type { IndexEntry, IndexPage, IndexRange } from '../../ports/stores.ts'
import { BODY_ALERT_MS } from '../living-bodies.ts'
import { planTasks } from '../plan-tasks.ts'
import { sideBySide } from '../side-by-side.ts'
import type { PlanningSystem } from '../system.ts'
import { transact } from '../transact.ts'
import { openRanges } from './read-schedules.ts'

/** What fell due this long ago and has not ticked has lost its message. */
const GRACE_MS = 10_000
/** Schedules read per shard and round: of those that are late, and now and then of all. */
const LATE = 200
const KEPT = 100
/** Bodies are renewed days before they expire. */
const KEPT_SHARE = 0.1
const RENEWALS_AT_ONCE = 5
const CURSOR_LIFE_MS = 7 * 86_400_000

type Report = { readonly looked: number; readonly repaired: number; readonly failed: number }

/**
 * One round of the safety net for schedules: plans those anew that should have ticked, and prolongs the life of what the
 * others publish, which may wait for years or be paused. Its cost is bounded, however many there are.
 */
export async function sweepSchedules(system: PlanningSystem): Promise<Report> {
  const now = system.clock.now()
  const late = await pages(system, openRanges({ to: now - GRACE_MS }), (_shard, range) =>
    system.tasks.page({ ...range, limit: LATE }),
  )
  const kept = system.chance.fraction() < KEPT_SHARE ? await pages(system, openRanges(), readOn(system)) : []
  const lost = late.filter(head => isTicking(head) && isOverdue(head, now))
  const failures = await planTasks(system, lost)
  if (lost.length > 0) {
    system.log.warn('sent again what schedules had lost', { schedules: lost.length, first: lost[0]?.id })
  }
  await keepBodies(system, [...late, ...kept], now)
  const failed = failures.length
  return { looked: late.length + kept.length, repaired: lost.length - failed, failed }
}

function isOverdue({ dueAt, updatedAt }: Task, now: number): boolean {
  return Math.max(dueAt, updatedAt) <= now - GRACE_MS
}

/** Any transition renews ageing bodies, so one that changes nothing does. */
async function keepBodies(system: PlanningSystem, heads: readonly Task[], now: number): Promise<void> {
  const ageing = heads.filter(head => bodiesExpiringBefore(head, now + BODY_ALERT_MS).length > 0)
  await sideBySide(ageing, RENEWALS_AT_ONCE, seen =>
    transact(system, seen, current =>
      current?.born === seen.born
        ? touchSchedule(current, now)
        : { ok: false as const, reason: 'finished' as const },
    ),
  )
}

type ReadPage = (shard: number, range: IndexRange) => Promise<IndexPage>

async function pages(system: PlanningSystem, ranges: readonly IndexRange[], read: ReadPage): Promise<Task[]> {
  const found = await sideBySide(ranges, ranges.length, (range, shard) => read(shard, range))
  const ids = found.flatMap(({ entries }) => entries.map(({ id }) => id))
  return ids.length > 0 ? system.tasks.heads([...new Set(ids)]) : []
}

/** A page from where the last time stopped. */
function readOn({ tasks, records, clock }: PlanningSystem): ReadPage {
  return async (shard, range) => {
    const name = `sweep#schedule#${shard}`
    const after = (await records.get(name)) as IndexEntry | null | undefined
    const page = await tasks.page({ ...range, limit: KEPT, ...(after && { after }) })
    const last = page.more ? page.entries.at(-1) : undefined
    if (last?.id !== after?.id) {
      const position = last ? { id: last.id, sort: last.sort } : null
      await records.put(name, position, clock.now() + CURSOR_LIFE_MS)
    }
    return page
  }
}
