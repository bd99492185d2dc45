import { runningPlace } from '../../core/place/place-names.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers } from '../../core/types/task-type.ts'
import type { IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { type MergedEntry, mergeRanges, take } from '../ready/merge-ranges.ts'
import { type ListQuery, listRanges, matchingHeads, sortKeyOf } from './list-query.ts'

/** At most this many matching tasks are sorted in memory, for an order that no index keeps. */
export const SORTED_TASKS_MAX = 1_000
/** A search for tasks to sort reads some 5,000 entries of the index at most, whether their tasks match or not. */
const COLLECTED_ENTRIES_MAX = 5_000
const BATCH_ENTRIES = 100

/** A task and its position in the list. */
export type ListedTask = { readonly task: Task; readonly entry: MergedEntry }

/** Every matching task in the order of the query; undefined when too many match, or when the search would read too many entries. */
export async function sortedTasks(system: System, query: ListQuery): Promise<ListedTask[] | undefined> {
  const ranges = listRanges(query, system.clock.now())
  const found = await collect(system, query, ranges, COLLECTED_ENTRIES_MAX)
  return found.isAll ? sorted(found.tasks, query) : undefined
}

/**
 * The running tasks of the query's types, sorted, without reading all of their backlog; undefined when too many run.
 *
 * Most running tasks are in the running places. A task that a handler runs enters them with its first heartbeat. A running
 * task that waits for more workers may be in its ready place or in the place of a limit instead. Such tasks are looked for among the open tasks of the type with the earliest due times, in
 * some 1,000 entries. Where a type has more open tasks, the list may lack a task outside of the running places.
 */
export async function sortedRunning(system: System, query: ListQuery): Promise<ListedTask[] | undefined> {
  const places = query.types.flatMap(type =>
    shardNumbers(type).map(shard => ({
      index: 'place' as const,
      partition: runningPlace(type.type, shard),
    })),
  )
  const running = await collect(system, query, places, SORTED_TASKS_MAX)
  if (!running.isAll) return undefined
  const due = await collect(system, query, listRanges(query, system.clock.now()), SORTED_TASKS_MAX)
  const byId = new Map([...running.tasks, ...due.tasks].map(task => [task.id, task]))
  return sorted([...byId.values()], query)
}

/** The part of a sorted list after a cursor. */
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
  entriesMax: number,
): Promise<{ tasks: Task[]; isAll: boolean }> {
  const entries = mergeRanges(system.tasks, ranges, { pageSize: BATCH_ENTRIES })
  const tasks: Task[] = []
  const seen = new Set<string>()
  for (let examined = 0; examined <= entriesMax; examined += BATCH_ENTRIES) {
    const batch = await take(entries, BATCH_ENTRIES)
    const ids = batch.map(({ id }) => id)
    tasks.push(...(await matchingHeads(system, query, ids, seen)).values())
    if (tasks.length > SORTED_TASKS_MAX) break
    if (batch.length < BATCH_ENTRIES) return { tasks, isAll: true }
  }
  return { tasks, isAll: false }
}

function sorted(tasks: readonly Task[], query: ListQuery): ListedTask[] {
  return tasks
    .map(task => ({ task, entry: { id: task.id, sort: sortKeyOf(task, query.order), range: 0 } }))
    .sort((a, b) => compare(a.entry, b.entry, query))
}

function compare(a: MergedEntry, b: MergedEntry, { order }: ListQuery): number {
  const bySort = Number(a.sort) - Number(b.sort)
  if (bySort !== 0) return order.startsWith('-') ? -bySort : bySort
  return a.id < b.id ? -1 : Number(a.id > b.id)
}
