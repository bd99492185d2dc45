import { ownerPartition, viewPartition } from '../../core/place/place-names.ts'
import { isGone } from '../../core/publish/publish.ts'
import { statusOf } from '../../core/status/status.ts'
import type { View } from '../../core/task/head-fields.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { readTasks } from '../kernel/read-heads.ts'
import type { System } from '../kernel/system.ts'
import { type ListFilter, passes, withinTimes } from './list-filter.ts'

/**
 * `ended` sorts ended tasks by their end and all others by their due time, as the index of a type does. For
 * open tasks it is the same as `due`. The index has some open tasks at an earlier time than their due time (`sweptFrom`).
 */
export type ListOrder = 'due' | '-due' | 'created' | '-created' | 'ended' | '-ended'

/**
 * Which tasks to list: those of some types, of a user, or of both. No type means every type, and an empty `statuses` any status.
 */
export type ListQuery = ListFilter & {
  readonly types: readonly TaskType[]
  readonly userId?: string
  readonly statuses: readonly Status[]
  readonly order: ListOrder
  /** Tasks per page, 1–100. */
  readonly limit: number
  readonly cursor?: string
}

const ENDED = ['succeeded', 'failed', 'cancelled'] as const
const NOT_OPEN = ['compensating', ...ENDED] as const

/** Whether an index keeps the tasks in the order of the query: the index of a type, or that of a user. */
export function isInIndexOrder({ userId, order, statuses }: ListQuery): boolean {
  if (userId !== undefined) return order.endsWith('created')
  return order.endsWith('ended') || (order.endsWith('due') && areOpen(statuses))
}

/** Whether the statuses exclude ended tasks. */
export function areOpen(statuses: readonly Status[]): boolean {
  return statuses.length > 0 && !statuses.some(status => ENDED.some(ended => ended === status))
}

/**
 * The partitions that a query reads, shard by shard, so that later added shards come last. Where the index keeps the order of the
 * query, the times of the filter bound each range.
 */
export function listRanges(query: ListQuery, now: number): IndexRange[] {
  const ranges = partitionsOf(query, now)
  return isInIndexOrder(query) ? ranges.map(range => withinTimes(range, query)) : ranges
}

function partitionsOf({ types, userId, statuses }: ListQuery, now: number): IndexRange[] {
  if (userId !== undefined) return [{ index: 'owner', partition: ownerPartition(userId) }]
  const shards = [...Array(Math.max(0, ...types.map(type => shardNumbers(type).length))).keys()]
  return shards.flatMap(shard =>
    types
      .filter(type => shard < shardNumbers(type).length)
      .flatMap(({ type }) => viewRanges(type, shard, statuses, now)),
  )
}

function viewRanges(type: string, shard: number, statuses: readonly Status[], now: number): IndexRange[] {
  return bucketsOf(statuses).map(bucket => ({
    index: 'view' as const,
    partition: viewPartition(type, bucket, shard),
    ...(bucket === 'open' ? openBounds(statuses, now) : {}),
  }))
}

/** The sort key of the task in an order. */
export function sortKeyOf({ state, dueAt, createdAt, view }: Task, order: ListOrder): number {
  if (order.endsWith('created')) return createdAt
  return order.endsWith('due') && state !== 'open' ? dueAt : (view?.sort ?? dueAt)
}

function bucketsOf(statuses: readonly Status[]): Array<View['bucket']> {
  if (statuses.length === 0) return ['open', 'compensating', ...ENDED]
  const isOpen = statuses.some(status => ['delayed', 'ready', 'running'].includes(status))
  return [...(isOpen ? (['open'] as const) : []), ...NOT_OPEN.filter(status => statuses.includes(status))]
}

/** The bounds that separate delayed from ready tasks. A running task is within those of ready ones, also if a patch has delayed it. */
function openBounds(statuses: readonly Status[], now: number): { from?: number; to?: number } {
  if (statuses.length === 0 || statuses.includes('running')) return {}
  const [delayed, ready] = [statuses.includes('delayed'), statuses.includes('ready')]
  if (delayed && !ready) return { from: now + 1 }
  return ready && !delayed ? { to: now } : {}
}

/** The tasks among `ids` that match the query, by id. Ids in `seen` are skipped, and the others are added to it. */
export async function matchingHeads(
  system: System,
  query: ListQuery,
  ids: readonly string[],
  seen: Set<string>,
): Promise<Map<string, Task>> {
  const fresh = [...new Set(ids)].filter(id => !seen.has(id))
  for (const id of fresh) seen.add(id)
  const heads = fresh.length > 0 ? await readTasks(system, fresh) : []
  return new Map(heads.filter(task => matches(task, query, system.clock.now())).map(task => [task.id, task]))
}

function matches(task: Task, query: ListQuery, now: number): boolean {
  const { types, userId, statuses } = query
  if (isGone(task, now)) return false
  if (types.length > 0 && !types.some(({ type }) => type === task.type)) return false
  if (!passes(task, sortKeyOf(task, query.order), query)) return false
  if (userId !== undefined && task.userId !== userId) return false
  return statuses.length === 0 || statuses.includes(statusOf(task, now))
}
