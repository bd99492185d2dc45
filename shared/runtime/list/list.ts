import { runningPlace } from '../../core/place/place.ts'
import type { Task } from '../../core/task/task.ts'
import { shardNumbers } from '../../core/types/task-type.ts'
import type { FieldProblem } from '../../core/values/values.ts'
import { compareTexts, defined } from '../../core/values/values.ts'
import type { IndexRange } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { entriesOfEach, type MergedEntry, mergeRanges, placeRanges, take } from '../place/ready.ts'
import {
  decodeCursor,
  encodeCursor,
  filterName,
  isInIndexOrder,
  type ListQuery,
  listRanges,
  matchingHeads,
  sortKeyOf,
} from './list-query.ts'

/**
 * Lists show many tasks, a page at a time: the tasks of a type or of a user, by status, in an order.
 *
 * Where an index keeps the order, a page follows the index. Other orders sort a bounded number of tasks in memory.
 * `list-query.ts` has the query, what narrows it, its opaque cursor, and the counts.
 */

export type ListAnswer =
  | {
      readonly ok: true
      readonly tasks: readonly Task[]
      readonly nextCursor?: string
      /** In an order that an index keeps: how many of its entries the page has read. */
      readonly examined?: number
    }
  | { readonly ok: false; readonly problem: FieldProblem }

/** One call reads at most this many index entries. Where few of them match, a page is short, and its cursor leads to the rest. */
const EXAMINED_ENTRIES_MAX = 1_000
const BATCH_ENTRIES = 100

/**
 * Lists one page of tasks, heads only. Orders that no index keeps, such as ended tasks by due time, are sorted in memory up to a bounded
 * number and refused beyond it. Lists lag by up to two seconds, and show each task as it is when they are read.
 */
export async function listTasks(system: System, query: ListQuery): Promise<ListAnswer> {
  const name = queryName(query)
  const after = query.cursor === undefined ? undefined : decodeCursor(name, query.cursor)
  if (query.cursor !== undefined && !after) return refused('cursor', FOREIGN_CURSOR)
  if (isRunningOfType(query)) {
    const running = await sortedRunning(system, query)
    if (running) return sortedPage(running, query, name, after)
  }
  if (isInIndexOrder(query)) return indexPage(system, query, name, after)
  const sorted = await sortedTasks(system, query)
  return sorted ? sortedPage(sorted, query, name, after) : refused('order', tooManyToSort(query))
}

const FOREIGN_CURSOR =
  'is not a cursor of this query: leave it out to begin at the start, or pass nextCursor with the query that returned it'

export function refused(path: string, message: string): ListAnswer {
  return { ok: false, problem: { path, message } }
}

/** Which queries are legal instead of one that has too many tasks to sort. */
function tooManyToSort({ order, userId, statuses }: ListQuery): string {
  const most = `${order} sorts at most ${SORTED_TASKS_MAX} tasks, and there are more`
  if (userId !== undefined)
    return `${most}: give a status that fewer tasks have, or order by created or -created`
  if (!order.endsWith('due'))
    return `${most}: give a status that fewer tasks have, or order by ended or -ended`
  const which = statuses.length === 0 ? 'tasks of every status' : `tasks that are ${statuses.join(', ')}`
  return `${most}: ${which} are listed by ended or -ended; due and -due list any number of open ones (delayed, ready, running, compensating)`
}

function queryName(query: ListQuery): string {
  const { types, isEveryType, userId, statuses, order } = query
  // A type that is added between two pages must not end the list of every type.
  const names = isEveryType ? '*' : types.map(({ type }) => type)
  return JSON.stringify([names, userId ?? null, [...new Set(statuses)].sort(), order, filterName(query)])
}

function isRunningOfType({ types, userId, statuses }: ListQuery): boolean {
  return (
    types.length > 0 &&
    userId === undefined &&
    statuses.length > 0 &&
    statuses.every(status => status === 'running')
  )
}

function sortedPage(
  placed: readonly ListedTask[],
  query: ListQuery,
  name: string,
  after: MergedEntry | undefined,
): ListAnswer {
  const rest = tasksAfter(placed, after, query)
  const page = rest.slice(0, query.limit)
  const tasks = page.map(({ task }) => task)
  return answer(tasks, name, rest.length > page.length ? page.at(-1)?.entry : undefined)
}

function answer(
  tasks: readonly Task[],
  name: string,
  last: MergedEntry | undefined,
  examined?: number,
): ListAnswer {
  return { ok: true, tasks, ...(last && { nextCursor: encodeCursor(name, last) }), ...defined({ examined }) }
}

/** Lists a page by following the index from the cursor on. */
async function indexPage(
  system: System,
  query: ListQuery,
  name: string,
  after: MergedEntry | undefined,
): Promise<ListAnswer> {
  const ranges = listRanges(query, system.clock.now())
  const entries = mergeRanges(system.tasks, ranges, {
    pageSize: entriesOfEach(ranges, Math.min(query.limit + 1, BATCH_ENTRIES)),
    descending: query.order.startsWith('-'),
    after,
  })
  const found: Task[] = []
  const seen = new Set<string>()
  let last: MergedEntry | undefined
  let examined = 0
  while (examined < EXAMINED_ENTRIES_MAX) {
    const batch = await take(entries, examined === 0 ? query.limit : BATCH_ENTRIES)
    if (batch.length === 0) return answer(found, name, undefined, examined)
    const ids = batch.map(({ id }) => id)
    const matching = await matchingHeads(system, query, ids, seen)
    const used = fill(found, batch, matching, query.limit)
    last = batch[used - 1]
    examined += batch.length
    if (found.length < query.limit) continue
    const more = used < batch.length || (await take(entries, 1)).length > 0
    return answer(found, name, more ? last : undefined, examined)
  }
  return answer(found, name, last, examined)
}

/** Adds the matching tasks in the order of the batch until the page is full; returns how many entries of the batch it used. */
function fill(
  found: Task[],
  batch: readonly MergedEntry[],
  matching: ReadonlyMap<string, Task>,
  limit: number,
): number {
  const added = new Set<string>()
  for (const [index, { id }] of batch.entries()) {
    const task = matching.get(id)
    if (!task || added.has(id)) continue
    added.add(id)
    found.push(task)
    if (found.length === limit) return index + 1
  }
  return batch.length
}

/** At most this many matching tasks are sorted in memory, for an order that no index keeps. */
const SORTED_TASKS_MAX = 1_000
/** A search for tasks to sort reads some 5,000 entries of the index at most, whether their tasks match or not. */
const COLLECTED_ENTRIES_MAX = 5_000

type ListedTask = { readonly task: Task; readonly entry: MergedEntry }

/** Every matching task in the order of the query; undefined when too many match, or when the search would read too many entries. */
async function sortedTasks(system: System, query: ListQuery): Promise<ListedTask[] | undefined> {
  const ranges = listRanges(query, system.clock.now())
  const found = await collect(system, query, ranges, COLLECTED_ENTRIES_MAX)
  return found.isAll ? sorted(found.tasks, query) : undefined
}

/**
 * The running tasks of the query's types, sorted, without reading all of their backlog; undefined when too many run.
 *
 * Most running tasks are in the running places. A task that a handler runs enters them with its first heartbeat. A running
 * task that waits for more workers may be in its ready place or in the place of a limit instead. Such tasks are searched in some 1,000
 * entries: among the open tasks of the type with the earliest due times. If a type has more open tasks, the list may lack a task
 * outside of the running places.
 */
async function sortedRunning(system: System, query: ListQuery): Promise<ListedTask[] | undefined> {
  const places = query.types.flatMap(type => shardNumbers(type).map(shard => runningPlace(type.type, shard)))
  const running = await collect(system, query, placeRanges(places), SORTED_TASKS_MAX)
  if (!running.isAll) return undefined
  const due = await collect(system, query, listRanges(query, system.clock.now()), SORTED_TASKS_MAX)
  const byId = new Map([...running.tasks, ...due.tasks].map(task => [task.id, task]))
  return sorted([...byId.values()], query)
}

function tasksAfter(
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
  const entries = mergeRanges(system.tasks, ranges, { pageSize: entriesOfEach(ranges, BATCH_ENTRIES) })
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
  return compareTexts(a.id, b.id)
}
