import type { ScheduledTask } from '../../api/schedules.ts'
import { DEFAULT_SHARDS } from '../../core/bounds.ts'
import { isGone } from '../../core/publish.ts'
import { isTicking, type Ticks, tickKey } from '../../core/schedule.ts'
import { isSchedule } from '../../core/task/head.ts'
import { type PresentSchedule, SCHEDULE_TYPE } from '../../core/task/head-fields.ts'
import { type Task, taskId } from '../../core/task/task.ts'
import { ticksOfTiming } from '../../cron/cron-ticks.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { readHead, readTasks } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { type HeadPage, type ListPage, listHeads } from '../list/list-heads.ts'
import { viewRange } from '../place/ready.ts'
import { isPresent, readScheduledTask } from './schedule.ts'

/**
 * A schedule as an answer shows it. `nextRunAt` is the time of the next tick; undefined when the schedule never ticks again, or is paused.
 */
export type ScheduleDescription = {
  readonly head: PresentSchedule
  readonly task: ScheduledTask
  readonly nextRunAt: number | undefined
}

/** Reads one schedule; undefined when it does not exist or was removed. */
export async function readSchedule(system: System, id: string): Promise<ScheduleDescription | undefined> {
  const head = await readHead(system, id, isSchedule)
  if (!isPresent(system, head)) return undefined
  return { head, task: await readScheduledTask(system, head), nextRunAt: nextTick(system, head) }
}

/**
 * Lists one page of the open schedules, the next tick first and paused schedules last. It gives only the type of
 * each task, so it reads no body.
 */
export async function listSchedules(system: System, page: ListPage): Promise<HeadPage<ScheduleDescription>> {
  const list = { name: 'schedules', ranges: openScheduleRanges(), is: isSchedule }
  const found = await listHeads(system, list, page)
  if (!found.ok) return found
  const schedules = found.heads.flatMap(head =>
    isPresent(system, head) && head.state === 'open'
      ? [{ head, task: { type: head.schedule.taskType }, nextRunAt: nextTick(system, head) }]
      : [],
  )
  return { ...found, heads: schedules }
}

/** A past tick. `task` is undefined when the tick was missed, and when its task is not kept any more. */
export type PastTick = { readonly at: number; readonly taskId: string; readonly task: Task | undefined }

/**
 * The ticks of a schedule before a time, newest first, as its present timing has them. The key of a tick's task follows from the tick, so no
 * index is needed. A tick that is due and not handled yet is not among them. Undefined when there is no such schedule.
 */
export async function readTicks(
  system: System,
  id: string,
  { limit, before = Number.POSITIVE_INFINITY }: { readonly limit: number; readonly before?: number },
): Promise<{ readonly ticks: readonly PastTick[]; readonly hasMore: boolean } | undefined> {
  const head = await readHead(system, id, isSchedule)
  const now = system.clock.now()
  if (!isPresent(system, head)) return undefined
  const { createdAt, schedule, key, state, dueAt } = head
  const handled = state === 'open' ? Math.min(dueAt, now + 1) : now + 1
  const past = lastTicks(
    ticksOfTiming(schedule.timing, createdAt),
    limit + 1,
    createdAt + 1,
    Math.min(before, handled),
  )
  const shown = past.reverse().slice(0, limit)
  const ids = shown.map(at => taskId(schedule.taskType, tickKey(key, at)))
  const byId = new Map((await readTasks(system, ids)).map(task => [task.id, task]))
  const presentTask = (task: Task | undefined) => (task && !isGone(task, now) ? task : undefined)
  const ticks = shown.map((at, nth) => {
    const tickId = ids[nth] ?? ''
    return { at, taskId: tickId, task: presentTask(byId.get(tickId)) }
  })
  return { ticks, hasMore: past.length > limit }
}

/** The last ticks of a span, earliest first. A schedule without a search backwards has one tick. */
function lastTicks(ticks: Ticks, count: number, from: number, before: number): number[] {
  if (ticks.last) return ticks.last(count, from, before)
  const only = ticks.next(from - 1)
  return only !== undefined && only < before ? [only] : []
}

/** The partitions of all open schedules, sorted by due time. */
export function openScheduleRanges(bounds: { readonly to?: number } = {}): IndexRange[] {
  return Array.from({ length: DEFAULT_SHARDS }, (_, shard) => viewRange(SCHEDULE_TYPE, 'open', shard, bounds))
}

/** The time of the next tick. A schedule that is due now shows the tick after that, unless the due tick is its last. */
function nextTick({ clock }: System, head: ScheduleDescription['head']): number | undefined {
  if (!isTicking(head)) return undefined
  const now = clock.now()
  if (head.dueAt > now) return head.dueAt
  return ticksOfTiming(head.schedule.timing, head.createdAt).next(now) ?? head.dueAt
}
