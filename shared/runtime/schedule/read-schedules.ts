import type { ScheduledTask } from '../../api/schedules.ts'
import { DEFAULT_SHARDS } from '../../core/bounds.ts'
import { viewPartition } from '../../core/place/place-names.ts'
import { isGone } from '../../core/publish/publish.ts'
import { isTicking } from '../../core/schedule/schedule.ts'
import { SCHEDULE_TYPE, type ScheduleState } from '../../core/task/schedule-state.ts'
import type { Task } from '../../core/task/task.ts'
import type { IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { decodeCursor, encodeCursor } from '../list/list-cursor.ts'
import { mergeRanges, take } from '../ready/merge-ranges.ts'
import { ticksOfTiming } from './cron-ticks.ts'
import { readScheduledTask } from './operate-schedule.ts'

/** A schedule as people see it; `nextRunAt` is undefined when it runs no more, or not now. */
export type ScheduleDescription = {
  readonly head: Task & { readonly schedule: ScheduleState }
  readonly task: ScheduledTask
  readonly nextRunAt: number | undefined
}

/** Undefined when there is none, or no more. */
export async function readSchedule(system: System, id: string): Promise<ScheduleDescription | undefined> {
  const head = await system.tasks.head(id)
  if (!isHere(system, head)) return undefined
  return { head, task: await readScheduledTask(system, head), nextRunAt: nextRun(system, head) }
}

export type SchedulePage =
  | { readonly ok: true; readonly schedules: readonly ScheduleDescription[]; readonly nextCursor?: string }
  | { readonly ok: false; readonly reason: 'strange-cursor' }

const LIST = 'schedules'

/**
 * One page of the schedules that are open, those that run next first, paused ones at the end; of their tasks the type
 * alone, so that none of their bodies is read.
 */
export async function listSchedules(
  system: System,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<SchedulePage> {
  const after = cursor === undefined ? undefined : decodeCursor(LIST, cursor)
  if (cursor !== undefined && !after) return { ok: false, reason: 'strange-cursor' }
  const entries = mergeRanges(system.tasks, openScheduleRanges(), { pageSize: limit + 1, after })
  const page = await take(entries, limit)
  const last = (await take(entries, 1)).length > 0 ? page.at(-1) : undefined
  const heads = await system.tasks.heads([...new Set(page.map(({ id }) => id))])
  const byId = new Map(heads.map(head => [head.id, head]))
  const schedules = [...new Set(page.map(({ id }) => id))].flatMap(id => {
    const head = byId.get(id)
    return isHere(system, head) && head.state === 'open' ? [brief(system, head)] : []
  })
  return { ok: true, schedules, ...(last && { nextCursor: encodeCursor(LIST, last) }) }
}

/** The partitions of all schedules that are open, by when they are due. */
export function openScheduleRanges(
  bounds: { readonly from?: number; readonly to?: number } = {},
): IndexRange[] {
  return Array.from({ length: DEFAULT_SHARDS }, (_, shard) => ({
    index: 'view' as const,
    partition: viewPartition(SCHEDULE_TYPE, 'open', shard),
    ...bounds,
  }))
}

function brief(system: System, head: ScheduleDescription['head']): ScheduleDescription {
  return { head, task: { type: head.schedule.taskType }, nextRunAt: nextRun(system, head) }
}

/** What is due now has a next time, too, unless this is its last. */
function nextRun({ clock }: System, head: ScheduleDescription['head']): number | undefined {
  if (!isTicking(head)) return undefined
  const now = clock.now()
  if (head.dueAt > now) return head.dueAt
  return ticksOfTiming(head.schedule.timing, head.createdAt).next(now) ?? head.dueAt
}

function isHere(system: System, head: Task | undefined): head is ScheduleDescription['head'] {
  return head?.schedule !== undefined && !isGone(head, system.clock.now())
}
