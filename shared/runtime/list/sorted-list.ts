import { runningPlace } from '../../core/place/place-names.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { type MergedEntry, mergeRanges, take } from '../ready/merge-ranges.ts'
import { type ListOrder, type ListQuery, listRanges, matchingHeads } from './list-query.ts'

/** Orders that no index keeps are sorted in memory: so many matching tasks at most, among so many entries. */
export const SORTED_TASKS_MAX = 1_000
const MOST_COLLECTED = 5_000
const BATCH = 100

/** A task and where it stands in its list. */
export type ListedTask = { readonly task: Task; readonly entry: MergedEntry }

/** Every task that matches, in the query's order; undefined when there are too many to sort. */
export async function sortedTasks(system: System, query: ListQuery): Promise<ListedTask[] | undefined> {
  const ranges = listRanges(query, system.clock.now())
  const found = await collect(system, query, ranges, MOST_COLLECTED)
  return found.isAll ? sorted(found.tasks, query) : undefined
}

/**
 * The running tasks of a type, sorted, without a walk through its backlog: those in the running places, and those that
 * have not entered one (their first heartbeat is to come, or they wait for more workers) as far as they are among the
 * first due. Undefined when too many run.
 */
export async function sortedRunning(
  system: System,
  query: ListQuery,
  type: TaskType,
): Promise<ListedTask[] | undefined> {
  const places = shardNumbers(type).map(shard => ({
    index: 'place' as const,
    partition: runningPlace(type.type, shard),
  }))
  const running = await collect(system, query, places, SORTED_TASKS_MAX)
  if (!running.isAll) return undefined
  const due = await collect(system, query, listRanges(query, system.clock.now()), SORTED_TASKS_MAX)
  const byId = new Map([...running.tasks, ...due.tasks].map(task => [task.id, task]))
  return sorted([...byId.values()], query)
}

/** The part of a sorted list behind `after`. */
export function tasksAfter(
  placed: readonly ListedTask[],
  after: MergedEntry | undefined,
  query: ListQuery,
): ListedTask[] {
  return after ? placed.filter(({ entry }) => compare(entry, after, query) > 0) : [...placed]
}

async function collect(
  system: System,
  query: ListQuery,
  ranges: readonly IndexRange[],
  mostEntries: number,
): Promise<{ tasks: Task[]; isAll: boolean }> {
  const entries = mergeRanges(system.tasks, ranges, { pageSize: BATCH })
  const tasks: Task[] = []
  const seen = new Set<string>()
  for (let examined = 0; examined <= mostEntries; examined += BATCH) {
    const batch = await take(entries, BATCH)
    const ids = batch.map(({ id }) => id)
    tasks.push(...(await matchingHeads(system, query, ids, seen)).values())
    if (tasks.length > SORTED_TASKS_MAX) break
    if (batch.length < BATCH) return { tasks, isAll: true }
  }
  return { tasks, isAll: false }
}

function sorted(tasks: readonly Task[], query: ListQuery): ListedTask[] {
  return tasks
    .map(task => ({ task, entry: { id: task.id, sort: sortKeyOf(task, query.order), range: 0 } }))
    .sort((a, b) => compare(a.entry, b.entry, query))
}

/** Where the task stands in an order, as a number. */
export function sortKeyOf({ dueAt, createdAt, view }: Task, order: ListOrder): number {
  if (order.endsWith('due')) return dueAt
  return order.endsWith('created') ? createdAt : (view?.sort ?? 0)
}

function compare(a: MergedEntry, b: MergedEntry, { order }: ListQuery): number {
  const bySort = Number(a.sort) - Number(b.sort)
  if (bySort !== 0) return order.startsWith('-') ? -bySort : bySort
  return a.id < b.id ? -1 : Number(a.id > b.id)
}
