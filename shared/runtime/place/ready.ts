/**
 * Ready tasks wait in the ready places of their types, in the order in which they are claimed. This file reads them from
 * the indexes, merged from several partitions into one order (`mergeRanges`). It also says which dispatches are tickets.
 */

import { tenantOf } from '../../core/place/claim-order.ts'
import { readyPlace, viewPartition } from '../../core/place/place.ts'
import type { View } from '../../core/task/head-fields.ts'
import { workOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import { orderingOf, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { hash32 } from '../../core/values/text.ts'
import { defined } from '../../core/values/values.ts'
import type { Chance } from '../../ports/machine.ts'
import type { IndexEntry, IndexRange, TaskStore } from '../../ports/stores.ts'
import { readTasksInOrder, sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'

/** The page size for `scatter`: one page of each partition is enough for most windows. */
const WIDE_PAGE_ENTRIES = 100

/** Reads the ready tasks as the indexes show them; some may have been claimed already. Heads are read as late as possible. */
export type ReadyTasks = {
  /** The next tasks: `count` or a few less, and none when no more wait. */
  next(count: number): Promise<Task[]>
  /**
   * Begins again at the front, as the indexes show it then. The first `window` tasks come in random order, the later ones
   * in their order. Returns how many tasks the window holds.
   */
  scatter(window: number): Promise<number>
  /** The position of the last task of each type that was read. */
  position(): Position
}

/** A position in the order of each type, by the name of the type. */
export type Position = ReadonlyMap<string, string>

/** A reader that begins at a position first reads this many tasks from the front. */
const FRONT_TASKS = 250

/**
 * Reads the ready tasks of each type in its order. Several types alternate. Each task appears once. With `start`, the tasks from
 * that position on follow the first ones.
 */
export function readyTasks(
  system: System,
  types: readonly TaskType[],
  pageSize: number,
  start?: Position,
): ReadyTasks {
  // The index may still show a flow that has moved on to a step of another type.
  const served = new Set(types.map(({ type }) => type))
  const read = new Map<string, string>()
  const from = (size: number, at?: Position) =>
    alternating(types.map(type => lineOf(system, type, size, { from: at?.get(type.type), read })))
  const fromTheFront = (size: number) => distinct(from(size))
  let entries = start
    ? distinct(joined(from(pageSize), FRONT_TASKS, from(pageSize, start)))
    : fromTheFront(pageSize)
  let queue: string[] = []
  return {
    next: async count => {
      for (;;) {
        if (queue.length < count) queue.push(...(await take(entries, count - queue.length)))
        const ids = queue.splice(0, count)
        if (ids.length === 0) return []
        const heads = (await readTasksInOrder(system, ids)).filter(task => served.has(workOf(task).type))
        if (heads.length > 0) return heads
      }
    },
    scatter: async window => {
      entries = fromTheFront(WIDE_PAGE_ENTRIES)
      queue = shuffled(await take(entries, window), system.chance)
      return queue.length
    },
    position: () => read,
  }
}

async function* joined(front: Line, count: number, rest: Line): Line {
  yield* await take(front, count)
  yield* rest
}

function shuffled(ids: readonly string[], { fraction }: Chance): string[] {
  const lots = ids.map(id => ({ id, lot: fraction() })).sort((a, b) => a.lot - b.lot)
  return lots.map(({ id }) => id)
}

type Line = AsyncGenerator<MergedEntry, void, undefined>

/**
 * The ready tasks of one type, in its order. In a fair type that is the order of the tenants' turns. `read` gets the position of
 * each task that is read.
 */
async function* lineOf(
  { tasks }: System,
  type: TaskType,
  pageSize: number,
  { from, read }: { readonly from: string | undefined; readonly read: Map<string, string> },
): Line {
  const places = shardNumbers(type).map(shard => readyPlace(type.type, shard))
  for await (const entry of mergeRanges(tasks, placeRanges(places, from), { pageSize })) {
    read.set(type.type, String(entry.sort))
    yield entry
  }
}

async function* alternating(lines: readonly Line[]): Line {
  let waiting = lines
  while (waiting.length > 0) {
    const round = await Promise.all(waiting.map(async line => ({ line, next: await line.next() })))
    for (const { next } of round) if (!next.done) yield next.value
    waiting = round.filter(({ next }) => !next.done).map(({ line }) => line)
  }
}

async function* distinct(
  entries: AsyncGenerator<MergedEntry, void, undefined>,
): AsyncGenerator<string, void, undefined> {
  const seen = new Set<string>()
  for await (const { id } of entries) {
    if (seen.has(id)) continue
    seen.add(id)
    yield id
  }
}

/** Whether a dispatch of the task is a ticket, by the type's present configuration. A task in the line of a limit is claimed itself. */
export function isTicket(named: Task, type: TaskType | undefined): boolean {
  if (named.wait || named.options.workerIds.length > 0) return false
  if (tenantOf(named) !== undefined) return true
  return type !== undefined && (type.isFair === true || orderingOf(type) !== 'arrival')
}

/** An entry, with the number of the merged range that it came from: a hash of the partition. */
export type MergedEntry = IndexEntry & { readonly range: number }

/** The number of the range of this partition. It does not depend on the other ranges. */
export function rangeNumber(partition: string): number {
  return hash32(partition)
}

/** A part of the index of a type's tasks. */
export function viewRange(
  type: string,
  bucket: View['bucket'],
  shard: number,
  bounds: Pick<IndexRange, 'from' | 'to'> = {},
): IndexRange {
  return { index: 'view', partition: viewPartition(type, bucket, shard), ...bounds }
}

/** These places as parts of the index of places. */
export function placeRanges(places: readonly string[], from?: string): IndexRange[] {
  return places.map(partition => ({ index: 'place', partition, ...defined({ from }) }))
}

type Source = {
  readonly range: IndexRange
  readonly number: number
  readonly buffer: IndexEntry[]
  last: IndexEntry | undefined
  more: boolean
}

type MergeOptions = {
  readonly pageSize: number
  readonly descending?: boolean
  /** Continue after this entry. Its sort key must be a whole number. */
  readonly after?: MergedEntry | undefined
}

/** An index returns up to this many entries for half a read unit, the least that a request costs, if ids have some 100 characters. */
const ENTRIES_OF_HALF_A_UNIT = 25

/** How many entries of each range to read at once for this many tasks. Of many ranges few entries each are needed. */
export function entriesOfEach(ranges: readonly IndexRange[], limit: number): number {
  return Math.min(limit, Math.max(ENTRIES_OF_HALF_A_UNIT, Math.ceil((2 * limit) / ranges.length)))
}

/** At most this many partitions are read at the same time. A list of 50 types has some 1,000. */
export const RANGES_AT_ONCE_MAX = 32

/**
 * Merges the entries of several partitions into one order, read page by page. Entries are sorted by their sort key. Among
 * equal keys, the ranges have an order that depends on their partitions alone; within a range, the index's order holds.
 *
 * So one entry marks a position in all ranges, whatever order the index keeps among equal keys. Ranges may be added between two pages.
 */
export async function* mergeRanges(
  tasks: TaskStore,
  ranges: readonly IndexRange[],
  options: MergeOptions,
): AsyncGenerator<MergedEntry, void, undefined> {
  const sources = ranges
    .map(range => sourceOf(range, rangeNumber(range.partition), options))
    .sort((a, b) => a.number - b.number)
  await sideBySide(sources, RANGES_AT_ONCE_MAX, source => fill(tasks, source, options))
  for (;;) {
    const next = foremost(sources, options.descending ?? false)
    const entry = next?.buffer.shift()
    if (!next || !entry) return
    yield { ...entry, range: next.number }
    if (next.buffer.length === 0) await fill(tasks, next, options)
  }
}

/**
 * Returns a source that begins where the reader continues. The ranges before the range of `after` have no entries left
 * with the sort key of `after`; the ranges behind it still have all of them.
 */
function sourceOf(range: IndexRange, number: number, { after, descending }: MergeOptions): Source {
  const fresh = { range, number, buffer: [], last: undefined, more: true }
  if (!after) return fresh
  const { id, sort } = after
  if (number === after.range) return { ...fresh, last: { id, sort } }
  const step = descending ? -1 : 1
  const start = number < after.range ? Number(sort) + step : Number(sort)
  return { ...fresh, range: beginningAt(range, start, descending ?? false) }
}

function beginningAt(range: IndexRange, start: number, descending: boolean): IndexRange {
  return descending
    ? { ...range, to: Math.min(start, Number(range.to ?? start)) }
    : { ...range, from: Math.max(start, Number(range.from ?? start)) }
}

async function fill(tasks: TaskStore, source: Source, { pageSize, descending }: MergeOptions): Promise<void> {
  while (source.more && source.buffer.length === 0) {
    const page = await tasks.page({
      ...source.range,
      limit: pageSize,
      ...(descending && { descending }),
      ...(source.last && { after: source.last }),
    })
    source.buffer.push(...page.entries)
    source.last = page.entries.at(-1) ?? source.last
    source.more = page.more && page.entries.length > 0
  }
}

function foremost(sources: readonly Source[], descending: boolean): Source | undefined {
  let best: Source | undefined
  for (const source of sources) {
    if (source.buffer.length > 0 && (!best || precedes(source, best, descending))) best = source
  }
  return best
}

function precedes(one: Source, other: Source, descending: boolean): boolean {
  const [a, b] = [one.buffer[0]?.sort ?? 0, other.buffer[0]?.sort ?? 0]
  return descending ? a > b : a < b
}

/** The oldest ready task is looked for behind at most this many running ones. */
const RUNNING_SKIPPED_MAX = 50

/**
 * A time at which a ready task of the type was due, so that the oldest one is due then or earlier. The index has running tasks among the
 * ready ones: with `running` of them, one of the first `running + 1` entries is ready. Undefined when too many run.
 */
export async function readySince(
  { tasks, clock }: System,
  type: TaskType,
  running: number,
): Promise<number | undefined> {
  if (running > RUNNING_SKIPPED_MAX) return undefined
  const to = clock.now()
  const ranges = shardNumbers(type).map(shard => viewRange(type.type, 'open', shard, { to }))
  const first = await take(mergeRanges(tasks, ranges, { pageSize: running + 1 }), running + 1)
  return first.length > running ? Number(first.at(-1)?.sort) : undefined
}

/** The next `count` entries. Returns fewer at the end. */
export async function take<T>(entries: AsyncGenerator<T, void, undefined>, count: number): Promise<T[]> {
  const taken: T[] = []
  while (taken.length < count) {
    const next = await entries.next()
    if (next.done) break
    taken.push(next.value)
  }
  return taken
}
