import { runningPlace, viewPartition } from '../../core/place/place-names.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'

export type Counts = Readonly<Record<Status, number>>

const RANGES_AT_ONCE_MAX = 32

/**
 * Counts the tasks of a type by status, in its indexes. Counts lag by up to two seconds, like lists. Finished
 * tasks count until DynamoDB deletes them, up to days after their retention. The cost grows with the number of
 * tasks: some 5 read units per thousand.
 */
export async function countTasks(system: System, taskType: TaskType): Promise<Counts> {
  const now = system.clock.now()
  const { type } = taskType
  const shards = shardNumbers(taskType)
  const view = (bucket: Parameters<typeof viewPartition>[1], bounds: { from?: number; to?: number } = {}) =>
    shards.map(shard => ({
      index: 'view' as const,
      partition: viewPartition(type, bucket, shard),
      ...bounds,
    }))
  const ranges = {
    delayed: view('open', { from: now + 1 }),
    due: view('open', { to: now }),
    compensating: view('compensating'),
    running: shards.map(shard => ({ index: 'place' as const, partition: runningPlace(type, shard) })),
    succeeded: view('succeeded'),
    failed: view('failed'),
    cancelled: view('cancelled'),
  }
  const jobs = Object.entries(ranges).flatMap(([name, parts]) => parts.map(range => ({ name, range })))
  const counted = await sideBySide(jobs, RANGES_AT_ONCE_MAX, async ({ name, range }) => ({
    name,
    count: await system.tasks.count(range),
  }))
  const sum = (name: keyof typeof ranges) =>
    counted.filter(part => part.name === name).reduce((total, { count }) => total + count, 0)
  const running = sum('running')
  return {
    delayed: sum('delayed'),
    ready: Math.max(0, sum('due') - running),
    running,
    compensating: sum('compensating'),
    succeeded: sum('succeeded'),
    failed: sum('failed'),
    cancelled: sum('cancelled'),
  }
}
