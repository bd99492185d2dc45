import { orderOf } from '../../core/place/place.ts'
import { limitPlace, readyPlace, runningPlace, viewPartition } from '../../core/place/place-names.ts'
import { isQuiet } from '../../core/status/status.ts'
import type { WhyFacts } from '../../core/status/why.ts'
import { isTakenInOrder, workOf } from '../../core/task/piece.ts'
import { isTargeted, type Task, typeOfLimit } from '../../core/task/task.ts'
import { servingType, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { sideBySide } from '../kernel/side-by-side.ts'
import type { System } from '../kernel/system.ts'
import type { StatusReaders } from '../read/describe-task.ts'

/** What a ready task waits behind, and the time since which all that a run needs exists. */
export type QueueFacts = Pick<WhyFacts, 'messages' | 'oldestDueAt' | 'before'> & {
  readonly since: number
  /** Whether tasks of its type run, if that decides whether it is stuck. */
  readonly isTypeAtWork?: boolean
}

/** An answer reads at most this many partitions of an index, so that its cost does not grow with the shards of a type. */
const PARTITIONS_READ_MAX = 4
/** Tasks before a task are counted up to this number. */
const BEFORE_MAX = 100

/** Reads the queue of a ready task, or the tasks that are claimed before it. */
export async function readQueue(
  system: System,
  readers: StatusReaders,
  task: Task,
  types: ReadonlyMap<string, TaskType>,
): Promise<QueueFacts> {
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const [messages, oldestDueAt, before, since] = await Promise.all([
    kind === 'http' || isTargeted(task) ? undefined : system.messages.backlog(serving),
    kind === 'http' || isTargeted(task) ? undefined : oldestOpen(system, type, types),
    isTakenInOrder(task) && !isTargeted(task) ? tasksBefore(system, task, types) : undefined,
    readySince(readers, task, types),
  ])
  const mayBeStuck = kind === 'http' && !isTargeted(task) && !before && isQuiet(task, system.clock.now())
  return {
    since,
    ...(mayBeStuck && { isTypeAtWork: await hasRuns(system, type, types) }),
    ...(messages !== undefined && { messages }),
    ...(oldestDueAt !== undefined && { oldestDueAt }),
    ...(before !== undefined && { before }),
  }
}

/** The due time of the open task of the type that was due first, in the partitions that are read. */
async function oldestOpen(
  { tasks, clock }: System,
  type: string,
  types: ReadonlyMap<string, TaskType>,
): Promise<number | undefined> {
  const known = types.get(type)
  const shards = known ? shardNumbers(known).slice(0, PARTITIONS_READ_MAX) : []
  const entries = await sideBySide(shards, PARTITIONS_READ_MAX, async shard => {
    const partition = viewPartition(type, 'open', shard)
    return (await tasks.page({ index: 'view', partition, to: clock.now(), limit: 1 })).entries
  })
  const dues = entries.flat().map(({ sort }) => Number(sort))
  return dues.length > 0 ? Math.min(...dues) : undefined
}

/** Whether a task of an HTTP type runs, in the partitions that are read. */
async function hasRuns(
  { tasks }: System,
  type: string,
  types: ReadonlyMap<string, TaskType>,
): Promise<boolean> {
  const known = types.get(type)
  const shards = known ? shardNumbers(known).slice(0, PARTITIONS_READ_MAX) : []
  const pages = await sideBySide(shards, PARTITIONS_READ_MAX, shard =>
    tasks.page({ index: 'place', partition: runningPlace(type, shard), limit: 1 }),
  )
  return pages.some(({ entries }) => entries.length > 0)
}

/** The number of tasks before the task in its place, up to `BEFORE_MAX`, in the partitions that are read. */
export async function tasksBefore(
  { tasks }: System,
  task: Task,
  types: ReadonlyMap<string, TaskType>,
): Promise<number> {
  const { type, shard: own } = workOf(task)
  const known = types.get(typeOfLimit(task.wait?.limit ?? type))
  const shards = [own, ...(known ? shardNumbers(known) : []).filter(shard => shard !== own)]
  const read = shards.slice(0, PARTITIONS_READ_MAX)
  const to = orderOf(task)
  const placeOf = (shard: number) => (task.wait ? limitPlace(task.wait, shard) : readyPlace(type, shard))
  const pages = await sideBySide(read, PARTITIONS_READ_MAX, async shard => {
    const limit = Math.ceil(BEFORE_MAX / read.length)
    return (await tasks.page({ index: 'place', partition: placeOf(shard), to, limit })).entries
  })
  return Math.min(
    BEFORE_MAX,
    pages.flat().filter(({ id, sort }) => id !== task.id && String(sort) < to).length,
  )
}

/**
 * The time since which the types are as they are, the handler is deployed, and a live worker may take the task. Before 15 minutes
 * after it, the task is not stuck.
 */
async function readySince(
  { liveWorkers }: StatusReaders,
  task: Task,
  types: ReadonlyMap<string, TaskType>,
): Promise<number> {
  const { type, kind } = workOf(task)
  const serving = servingType(type, kind)
  const deployed = types.get(serving)
  const isByWorkers = kind === 'http' || deployed?.servedBy === 'workers'
  const workers = isByWorkers ? await liveWorkers() : []
  const starts = workers.filter(one => one.types.includes(serving)).map(({ startedAt }) => startedAt)
  return Math.max(
    deployed?.handlerSince ?? 0,
    ...[...types.values()].map(({ updatedAt }) => updatedAt),
    starts.length > 0 ? Math.min(...starts) : 0,
  )
}
