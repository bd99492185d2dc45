import { ownerPartition, runningPlace } from '../../core/place/place.ts'
import { isGone } from '../../core/publish.ts'
import { areOpen, ENDED_STATUSES } from '../../core/states.ts'
import { statusOf } from '../../core/status.ts'
import type { View } from '../../core/task/head-fields.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { Task } from '../../core/task/task.ts'
import { mayHaveFlows, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import { hash32 } from '../../core/values/text.ts'
import { defined } from '../../core/values/values.ts'
import type { IndexRange } from '../../ports/stores.ts'
import { readTasks, sideBySide } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { type MergedEntry, RANGES_AT_ONCE_MAX, viewRange } from '../place/ready.ts'

/**
 * `ended` sorts ended tasks by their end and all others by their due time, as the index of a type does. For
 * open tasks it is the same as `due`. The index has some open tasks at an earlier time than their due time (`sweptFrom`).
 */
export type ListOrder = 'due' | '-due' | 'created' | '-created' | 'ended' | '-ended'

/** Which tasks to list: the tasks of some types, of a user, or of both. No type means every type, and an empty `statuses` any status. */
export type ListQuery = ListFilter & {
  readonly types: readonly TaskType[]
  /** The types are all that the system has, so a type may be added between two pages. */
  readonly isEveryType?: boolean
  readonly userId?: string
  readonly statuses: readonly Status[]
  readonly order: ListOrder
  /** Tasks per page, 1–100. */
  readonly limit: number
  readonly cursor?: string
}

const NOT_OPEN = ['compensating', ...ENDED_STATUSES] as const

/** Whether an index keeps the tasks in the order of the query: the index of a type or of a user. */
export function isInIndexOrder({ userId, order, statuses }: ListQuery): boolean {
  if (userId !== undefined) return order.endsWith('created')
  return order.endsWith('ended') || (order.endsWith('due') && areOpen(statuses))
}

/** The partitions that a query reads. Where the index keeps the order of the query, the times of the filter bound each range. */
export function listRanges(query: ListQuery, now: number): IndexRange[] {
  const ranges = partitionsOf(query, now)
  return isInIndexOrder(query) ? ranges.map(range => withinTimes(range, query)) : ranges
}

function partitionsOf({ types, userId, statuses }: ListQuery, now: number): IndexRange[] {
  if (userId !== undefined) return [{ index: 'owner', partition: ownerPartition(userId) }]
  return types.flatMap(type => shardNumbers(type).flatMap(shard => viewRanges(type, shard, statuses, now)))
}

function viewRanges(type: TaskType, shard: number, statuses: readonly Status[], now: number): IndexRange[] {
  return bucketsOf(statuses)
    .filter(bucket => bucket !== 'compensating' || mayHaveFlows(type))
    .map(bucket => viewRange(type.type, bucket, shard, bucket === 'open' ? openBounds(statuses, now) : {}))
}

export function sortKeyOf({ state, dueAt, createdAt, view }: Task, order: ListOrder): number {
  if (order.endsWith('created')) return createdAt
  return order.endsWith('due') && state !== 'open' ? dueAt : (view?.sort ?? dueAt)
}

function bucketsOf(statuses: readonly Status[]): Array<View['bucket']> {
  if (statuses.length === 0) return ['open', 'compensating', ...ENDED_STATUSES]
  const isOpen = statuses.some(status => ['delayed', 'ready', 'running'].includes(status))
  return [...(isOpen ? (['open'] as const) : []), ...NOT_OPEN.filter(status => statuses.includes(status))]
}

/** The bounds that separate delayed from other open tasks. A running task has an entry at its start, also if a patch has delayed it. */
function openBounds(statuses: readonly Status[], now: number): { from?: number; to?: number } {
  if (statuses.length === 0) return {}
  if (!statuses.includes('delayed')) return { to: now }
  return statuses.includes('ready') || statuses.includes('running') ? {} : { from: now + 1 }
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
  const now = system.clock.now()
  const types = query.types.map(({ type }) => type)
  const heads = fresh.length > 0 ? await readTasks(system, fresh) : []
  return new Map(heads.filter(task => matches(task, types, query, now)).map(task => [task.id, task]))
}

/** Whether the task is of one of these types, or of any if there are none, and fits the query. */
export function matches(
  task: Task,
  types: readonly string[],
  query: Omit<ListQuery, 'types'>,
  now: number,
): boolean {
  const { userId, statuses } = query
  if (isGone(task, now)) return false
  if (types.length > 0 && !types.includes(task.type)) return false
  if (!passes(task, sortKeyOf(task, query.order), query)) return false
  if (userId !== undefined && task.userId !== userId) return false
  return statuses.length === 0 || statuses.includes(statusOf(task, now))
}

/**
 * Filters that narrow a list beyond the index that it reads. Each page examines a bounded number of tasks and leaves out those that
 * do not fit. So a page may be short or empty, and its cursor still leads to the rest.
 */
export type ListFilter = {
  /** Tasks from this time on, by the time that the order sorts by. */
  readonly since?: number
  /** Tasks before this time. */
  readonly until?: number
  /** Tags as `name:value`; a task has all of them. */
  readonly tags?: readonly string[]
  /** Text in the name or the message of the task's error, in upper or lower case. */
  readonly error?: string
  /** A tag as `name:value` or its value, or text in the error. */
  readonly text?: string
}

/** Whether the task passes the filter. `sort` is its time in the order of the list. */
function passes(
  task: Task,
  sort: number,
  {
    since = Number.NEGATIVE_INFINITY,
    until = Number.POSITIVE_INFINITY,
    tags: wanted = [],
    error,
    text,
  }: ListFilter,
): boolean {
  if (sort < since || sort >= until) return false
  const own = new Set(Object.entries(task.tags ?? {}).map(([name, value]) => `${name}:${value}`))
  if (!wanted.every(tag => own.has(tag))) return false
  if (error !== undefined && !hasError(task, error)) return false
  return text === undefined || isLabelled(task, text) || hasError(task, text)
}

function hasError({ error }: Task, text: string): boolean {
  return error !== undefined && `${error.name}: ${error.message}`.toLowerCase().includes(text.toLowerCase())
}

/** Whether the task has this tag: as `name:value`, as `name=value`, or by its value alone. */
export function isLabelled({ tags = {} }: Task, text: string): boolean {
  return Object.entries(tags).some(([name, value]) =>
    [value, `${name}:${value}`, `${name}=${value}`].includes(text),
  )
}

/** The range, bounded by the times of the filter as well. The sort keys of the range must be the times of the list's order. */
function withinTimes(range: IndexRange, { since, until }: ListFilter): IndexRange {
  const from = [Number(range.from ?? Number.NEGATIVE_INFINITY), since ?? Number.NEGATIVE_INFINITY]
  const to = [Number(range.to ?? Number.POSITIVE_INFINITY), (until ?? Number.POSITIVE_INFINITY) - 1]
  return { ...range, ...defined({ from: finite(Math.max(...from)), to: finite(Math.min(...to)) }) }
}

function finite(bound: number): number | undefined {
  return Number.isFinite(bound) ? bound : undefined
}

/** The filter as part of the name of a query, to which a cursor belongs. */
export function filterName({ since, until, tags = [], error, text }: ListFilter): readonly unknown[] {
  const bounds = [since ?? null, until ?? null, [...tags].sort(), error ?? null]
  return text === undefined ? bounds : [...bounds, text]
}

/** Cursors of an older form are refused; the reader then begins the list again. */
const VERSION = 2

/**
 * Encodes a position in a list as opaque text. The position is valid only within the query that it was made for, so a forged cursor cannot
 * show more than the query itself. The hash detects typing errors and cursors of other queries.
 */
export function encodeCursor(query: string, { sort, id, range }: MergedEntry): string {
  const fields = [VERSION, sort, id, range]
  return cursorOf([...fields, checksum(query, fields)])
}

/** Decodes a cursor; undefined when it is malformed or belongs to another query. */
export function decodeCursor(query: string, cursor: string): MergedEntry | undefined {
  const parsed = jsonIn(cursor)
  if (!Array.isArray(parsed) || parsed.length !== 5) return undefined
  const [version, sort, id, range, hash] = parsed as unknown[]
  const isWhole = Number.isSafeInteger(sort) && Number.isSafeInteger(range)
  if (version !== VERSION || !isWhole || typeof id !== 'string') return undefined
  if (hash !== checksum(query, [version, sort, id, range])) return undefined
  return { sort: sort as number, id, range: range as number }
}

function checksum(query: string, fields: readonly unknown[]): number {
  return hash32(JSON.stringify([query, ...fields]))
}

/** A value as the opaque text of a cursor. */
export function cursorOf(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** The value in a cursor; undefined when it is malformed, or has a character too many. */
export function jsonIn(cursor: string): unknown {
  try {
    const value: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    return cursorOf(value) === cursor ? value : undefined
  } catch {
    return undefined
  }
}

/**
 * Counts the tasks of a type by status, in its indexes. Counts lag by up to two seconds, like lists. Finished tasks count until DynamoDB
 * deletes them, up to days after their retention. The cost grows with the number of tasks: some 10 read units per thousand. With `atMost`,
 * each count except of running tasks stops at this number, and its shards are counted one after the other. A type without open tasks, as
 * most types are at most times, is then asked for one of them and for no status that open tasks have.
 */
export async function countTasks(
  system: System,
  taskType: TaskType,
  atMost?: number,
): Promise<Record<Status, number>> {
  const now = system.clock.now()
  const { type } = taskType
  const shards = shardNumbers(taskType)
  const count = (rangeOf: (shard: number) => IndexRange, most: number | undefined) =>
    countShards(system, shards.map(rangeOf), most)
  const view = (bucket: View['bucket'], bounds?: { from: number }) =>
    count(shard => viewRange(type, bucket, shard, bounds), atMost)
  const openRange = (shard: number) => viewRange(type, 'open', shard)
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
    compensating: mayHaveFlows(taskType) ? view('compensating') : Promise.resolve(0),
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
