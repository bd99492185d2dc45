import { runningPlace, viewPartition } from '../../core/place/place-names.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'

export type Counts = Readonly<Record<Status, number>>

const RANGES_AT_ONCE_MAX = 32

/**
 * Counts the tasks of a type by status, in its indexes. Counts lag by up to two seconds, like lists. Finished
 * tasks count until DynamoDB deletes them, up to days after their retention. The cost grows with the number of
 * tasks: some 10 read units per thousand. With `atMost`, each count but that of running tasks stops at this number, and its shards are
 * counted one after the other. A type without open tasks, as most types are at most times, is then asked for one of them and for no
 * status that open tasks have.
 */
export async function countTasks(system: System, taskType: TaskType, atMost?: number): Promise<Counts> {
  const now = system.clock.now()
  const { type } = taskType
  const shards = shardNumbers(taskType)
  const count = (rangeOf: (shard: number) => IndexRange, most: number | undefined) =>
    countShards(system, shards.map(rangeOf), most)
  const view = (bucket: Parameters<typeof viewPartition>[1], bounds: { from?: number; to?: number } = {}) =>
    count(shard => ({ index: 'view', partition: viewPartition(type, bucket, shard), ...bounds }), atMost)
  const openRange = (shard: number): IndexRange => ({
    index: 'view',
    partition: viewPartition(type, 'open', shard),
  })
  const isOpen = atMost === undefined ? Promise.resolve(true) : hasAny(system, shards.map(openRange))
  const ifOpen = (work: () => Promise<number>) => isOpen.then(has => (has ? work() : 0))
  // Running tasks are due, too. All of them are counted, so that they can be taken off the due ones.
  const running = ifOpen(() =>
    count(shard => ({ index: 'place', partition: runningPlace(type, shard) }), undefined),
  )
  const due = running.then(tasks =>
    ifOpen(() => count(shard => ({ ...openRange(shard), to: now }), atMost && atMost + tasks)),
  )
  const found: Record<Status, number> = await allOf({
    delayed: ifOpen(() => view('open', { from: now + 1 })),
    ready: Promise.all([due, running]).then(([all, begun]) => Math.max(0, all - begun)),
    running,
    compensating: view('compensating'),
    succeeded: view('succeeded'),
    failed: view('failed'),
    cancelled: view('cancelled'),
  })
  const most = atMost ?? Number.POSITIVE_INFINITY
  const entries = Object.entries(found).map(([status, number]) => [status, Math.min(number, most)])
  return Object.fromEntries(entries)
}

async function hasAny({ tasks }: System, ranges: readonly IndexRange[]): Promise<boolean> {
  const counts = await sideBySide(ranges, RANGES_AT_ONCE_MAX, range => tasks.count(range, 1))
  return counts.some(count => count > 0)
}

async function countShards(
  { tasks }: System,
  ranges: readonly IndexRange[],
  most: number | undefined,
): Promise<number> {
  if (most === undefined) {
    const counts = await sideBySide(ranges, RANGES_AT_ONCE_MAX, range => tasks.count(range))
    return counts.reduce((sum, one) => sum + one, 0)
  }
  let total = 0
  for (const range of ranges) {
    if (total >= most) return total
    total += await tasks.count(range, most - total)
  }
  return total
}

async function allOf(counts: Record<Status, Promise<number>>): Promise<Record<Status, number>> {
  const entries = Object.entries(counts).map(async ([status, count]) => [status, await count])
  return Object.fromEntries(await Promise.all(entries))
}
