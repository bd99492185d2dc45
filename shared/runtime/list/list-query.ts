import { ownerPartition, viewPartition } from '../../core/place/place-names.ts'
import { isGone } from '../../core/publish/publish.ts'
import { statusOf } from '../../core/status/status.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { Task, View } from '../../core/task/task.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

/**
 * `ended`: by the end of each task, those that have not ended by the time they are due. That is how the index of a type keeps
 * them; of open ones it is the order `due`, too.
 */
export type ListOrder = 'due' | '-due' | 'created' | '-created' | 'ended' | '-ended'

/** Which tasks: of a type, of a user, or of a user and a type. No statuses means any. */
export type ListQuery = {
  readonly type?: TaskType
  readonly userId?: string
  readonly statuses: readonly Status[]
  readonly order: ListOrder
  /** Tasks per page, 1–100. */
  readonly limit: number
  readonly cursor?: string
}

const ENDED = ['succeeded', 'failed', 'cancelled'] as const
const OTHERS = ['compensating', ...ENDED] as const

/** Whether an index keeps the tasks in the order of the query: that of a type, or of a user. */
export function isInIndexOrder({ userId, order, statuses }: ListQuery): boolean {
  if (userId !== undefined) return order.endsWith('created')
  return order.endsWith('ended') || (order.endsWith('due') && areOpen(statuses))
}

/** Whether no task that has ended is asked for. */
export function areOpen(statuses: readonly Status[]): boolean {
  return statuses.length > 0 && !statuses.some(status => ENDED.some(ended => ended === status))
}

/** The partitions a query reads; shard by shard, so that further shards come last. */
export function listRanges({ type, userId, statuses }: ListQuery, now: number): IndexRange[] {
  if (userId !== undefined) return [{ index: 'owner', partition: ownerPartition(userId) }]
  if (!type) return []
  return shardNumbers(type).flatMap(shard =>
    bucketsOf(statuses).map(bucket => ({
      index: 'view' as const,
      partition: viewPartition(type.type, bucket, shard),
      ...(bucket === 'open' ? openBounds(statuses, now) : {}),
    })),
  )
}

function bucketsOf(statuses: readonly Status[]): Array<View['bucket']> {
  if (statuses.length === 0) return ['open', 'compensating', ...ENDED]
  const isOpen = statuses.some(status => ['delayed', 'ready', 'running'].includes(status))
  return [...(isOpen ? (['open'] as const) : []), ...OTHERS.filter(status => statuses.includes(status))]
}

/** A running task may be due in the future, when it was patched so; all else that is due then is delayed. */
function openBounds(statuses: readonly Status[], now: number): { from?: number; to?: number } {
  if (statuses.length === 0 || statuses.includes('running')) return {}
  const [delayed, ready] = [statuses.includes('delayed'), statuses.includes('ready')]
  if (delayed && !ready) return { from: now + 1 }
  return ready && !delayed ? { to: now } : {}
}

/** The tasks among `ids` that the query asks for, by id. Those in `seen` are passed over, the rest is added to it. */
export async function matchingHeads(
  system: System,
  query: ListQuery,
  ids: readonly string[],
  seen: Set<string>,
): Promise<Map<string, Task>> {
  const fresh = [...new Set(ids)].filter(id => !seen.has(id))
  for (const id of fresh) seen.add(id)
  const heads = fresh.length > 0 ? await system.tasks.heads(fresh) : []
  return new Map(heads.filter(task => matches(task, query, system.clock.now())).map(task => [task.id, task]))
}

function matches(task: Task, { type, userId, statuses }: ListQuery, now: number): boolean {
  if (isGone(task, now)) return false
  if (type && task.type !== type.type) return false
  if (userId !== undefined && task.userId !== userId) return false
  return statuses.length === 0 || statuses.includes(statusOf(task, now))
}
