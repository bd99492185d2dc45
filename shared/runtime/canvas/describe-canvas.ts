import { ANSWER_BYTES_MAX } from '../../core/bounds.ts'
import { type Evaluation, evaluate } from '../../core/canvas/standing.ts'
import { nodeAt, nodeValue, pathOf, valueLeaves } from '../../core/canvas/tree.ts'
import { isGone } from '../../core/publish.ts'
import { MEMBER_STATUSES } from '../../core/states.ts'
import { statusOf } from '../../core/status.ts'
import type { Canvas } from '../../core/task/head-fields.ts'
import { resultOf } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { TaskError } from '../../core/task-error/task-error.ts'
import { defined, escapedBytes, type Json } from '../../core/values/values.ts'
import { bodyValue } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import { type ListAnswer, refused } from '../list/list.ts'
import type { ListQuery } from '../list/list-query.ts'
import { decodeCursor, encodeCursor, filterName, matches, sortKeyOf } from '../list/list-query.ts'
import type { KnownEnds, LoadedCanvas } from './canvas.ts'
import { impliedError, memberId, readAllEnds, readCanvasOf, readMembers } from './canvas.ts'
import { memberResults } from './read-previous.ts'

type MemberStatus = (typeof MEMBER_STATUSES)[number]

type CanvasItem = {
  readonly path: string
  readonly taskId: string
  readonly status: MemberStatus
  readonly result?: Json
  readonly error?: TaskError
}

export type CanvasDescription = {
  readonly head: Canvas
  readonly status: 'running' | 'succeeded' | 'failed' | 'cancelled'
  readonly result?: Json
  readonly error?: TaskError
  readonly counts: Readonly<Record<MemberStatus, number>>
  readonly items: readonly CanvasItem[]
  readonly nextCursor?: string
}

export type CanvasRead =
  | { readonly ok: true; readonly canvas: CanvasDescription }
  | { readonly ok: false; readonly reason: 'unknown' | 'strange-cursor' }

/** Status, counts, error and times of a canvas take less than 64 KB of an answer, as escaped JSON. */
const FRAME_BYTES = 64 * 1024
/** A page of members takes at most this much of the answer. One result of 350 KB takes at most twice its size when escaped. */
const ITEM_BYTES_MAX = 1.75 * 1024 * 1024
const RESULT_BYTES_MAX = ANSWER_BYTES_MAX - FRAME_BYTES - ITEM_BYTES_MAX
/** The answer contains the result of a canvas with at most this many members. Longer results are read page by page. */
const RESULT_MEMBERS_MAX = 10_000
/**
 * Up to this many members, the counts come from the members' heads. Beyond it they come from the counted ends,
 * and each further member that may have started counts as running.
 */
const COUNTED_HEADS_MAX = 200

/** Reads a canvas with one page of its members, in the order of the publish body. */
export async function readCanvas(
  system: System,
  id: string,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<CanvasRead> {
  const found = await readCanvasOf(system, id)
  if (!found) return { ok: false, reason: 'unknown' }
  const { head, canvas } = found
  const name = `${id} ${head.born}`
  const after = cursor === undefined ? undefined : decodeCursor(name, cursor)
  if (cursor !== undefined && !after) return { ok: false, reason: 'strange-cursor' }
  const from = after ? Number(after.sort) + 1 : 0
  const described = await describe(await viewOf(system, canvas, head), from, limit)
  const next = from + described.items.length
  const nextCursor = next < canvas.leaves && encodeCursor(name, { sort: next - 1, id: '', range: 0 })
  return { ok: true, canvas: { ...described, ...(nextCursor && { nextCursor }) } }
}

/** Only the first page contains the result. */
async function describe(seen: CanvasView, from: number, limit: number): Promise<CanvasDescription> {
  const { system, canvas, head } = seen
  const [items, counts, result] = await Promise.all([
    itemsOf(seen, from, limit),
    countsOf(seen),
    from === 0 ? canvasResult(system, canvas, head) : undefined,
  ])
  return {
    head,
    status: head.state === 'open' ? 'running' : (head.state as 'succeeded'),
    counts,
    items,
    ...(result !== undefined && { result }),
    ...(head.error && { error: head.error }),
  }
}

/** A canvas at one time: its head, its counted ends, and what follows from them. */
type CanvasView = {
  readonly system: System
  readonly canvas: LoadedCanvas
  readonly head: Canvas
  readonly known: KnownEnds
  readonly evaluation: Evaluation
}

async function viewOf(system: System, canvas: LoadedCanvas, head: Canvas): Promise<CanvasView> {
  const known = await readAllEnds(system, canvas)
  return { system, canvas, head, known, evaluation: evaluate(canvas.tree, known.endOf) }
}

/** The status in the task's head wins. Without a head, the status follows from the ends that the canvas has counted. */
function statusOfMember(
  { system, head, known, evaluation }: CanvasView,
  leaf: number,
  task: Task | undefined,
): MemberStatus {
  const now = system.clock.now()
  if (task?.state === 'removed') return 'cancelled'
  if (task && !isGone(task, now)) return statusOf(task, now)
  if (evaluation.reachOf(leaf) === 'skipped') return 'skipped'
  return known.endOf(leaf) ?? (head.state === 'cancelled' ? 'cancelled' : 'pending')
}

async function countsOf(seen: CanvasView): Promise<Record<MemberStatus, number>> {
  const { canvas, known, evaluation } = seen
  const none = MEMBER_STATUSES.map(status => [status, 0])
  const counts: Record<MemberStatus, number> = Object.fromEntries(none)
  const leaves = canvas.types.map((_type, leaf) => leaf)
  const heads =
    canvas.leaves <= COUNTED_HEADS_MAX ? await readMembers(seen.system, canvas, leaves) : undefined
  for (const leaf of leaves) {
    const isUnseen = !heads && known.endOf(leaf) === undefined && evaluation.reachOf(leaf) === 'ready'
    const status = statusOfMember(seen, leaf, heads?.get(leaf))
    counts[isUnseen && status === 'pending' ? 'running' : status] += 1
  }
  return counts
}

/** Describes as many members as the answer can hold, at least one. */
async function itemsOf(seen: CanvasView, from: number, limit: number): Promise<CanvasItem[]> {
  const { canvas } = seen
  const to = Math.min(from + limit, canvas.leaves)
  const leaves = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
  const heads = await readMembers(seen.system, canvas, leaves)
  const items: CanvasItem[] = []
  let bytesLeft = ITEM_BYTES_MAX
  for (const leaf of leaves) {
    const item = await itemOf(seen, leaf, heads.get(leaf))
    bytesLeft -= escapedBytes(item as unknown as Json) + 1
    if (bytesLeft < 0 && items.length > 0) break
    items.push(item)
  }
  return items
}

async function itemOf(seen: CanvasView, leaf: number, task: Task | undefined): Promise<CanvasItem> {
  const { canvas, system } = seen
  const taskId = memberId(canvas, leaf)
  const status = statusOfMember(seen, leaf, task)
  const body = task && status === 'succeeded' ? resultOf(task) : undefined
  const result = body && (await bodyValue(system, taskId, body))
  const error = task && status !== 'succeeded' ? (task.error ?? impliedError(task)) : undefined
  return {
    path: pathOf(canvas.tree, leaf),
    taskId,
    status,
    ...(result !== undefined && { result }),
    ...(error && { error }),
  }
}

/** The result of a canvas that has succeeded; undefined when it has not, or when the result is too long for one answer. */
async function canvasResult(system: System, canvas: LoadedCanvas, head: Canvas): Promise<Json | undefined> {
  if (head.state !== 'succeeded') return undefined
  const root = nodeAt(canvas.tree, 0)
  const leaves = valueLeaves(canvas.tree, root)
  if (leaves.length > RESULT_MEMBERS_MAX) return undefined
  const results = await memberResults(system, canvas, leaves, RESULT_BYTES_MAX)
  if (!results || results === 'too-long') return undefined
  const value = nodeValue(canvas.tree, root, leaf => results.get(leaf) ?? null)
  return escapedBytes(value) <= RESULT_BYTES_MAX ? value : undefined
}

export type MemberQuery = Omit<ListQuery, 'types'> & {
  readonly canvasId: string
  /** None means every type. */
  readonly types: readonly string[]
}

/** One call reads at most this many heads. Where few of them match, a page is short, and its cursor leads to the rest. */
const EXAMINED_MAX = 1_000
const BATCH_LEAVES = 100

/**
 * Lists one page of the published tasks of a canvas, heads only; undefined when there is no such canvas. The
 * ids of the members follow from the canvas, so no index is read, and `created` is the order of the publish
 * body. Other orders are sorted in memory, up to a bounded number of members.
 */
export async function listMembers(system: System, query: MemberQuery): Promise<ListAnswer | undefined> {
  const found = await readCanvasOf(system, query.canvasId)
  if (!found) return undefined
  const { canvas } = found
  const name = JSON.stringify([
    canvas.born,
    query.canvasId,
    query.types,
    query.userId ?? null,
    [...query.statuses].sort(),
    query.order,
    filterName(query),
  ])
  const after = query.cursor === undefined ? undefined : decodeCursor(name, query.cursor)
  if (query.cursor !== undefined && !after)
    return refused(
      'cursor',
      'is not a cursor of this query: leave it out, or pass nextCursor with the query that returned it',
    )
  const order = await orderOf(system, canvas, query)
  if (!order)
    return refused('order', `${query.order} sorts at most ${EXAMINED_MAX} members: use created or -created`)
  return page(system, { canvas, query, order, name, from: after ? Number(after.sort) + 1 : 0 })
}

/** The leaves in the order of the query; undefined when there are too many to sort. */
async function orderOf(
  system: System,
  canvas: LoadedCanvas,
  { order }: MemberQuery,
): Promise<number[] | undefined> {
  const leaves = canvas.types.map((_type, leaf) => leaf)
  if (order === 'created') return leaves
  if (order === '-created') return leaves.reverse()
  if (canvas.leaves > EXAMINED_MAX) return undefined
  const members = await readMembers(system, canvas, leaves)
  const sorts = new Map([...members].map(([leaf, head]) => [leaf, sortKeyOf(head, order)]))
  const positionOf = (leaf: number) => sorts.get(leaf) ?? 0
  const sign = order.startsWith('-') ? -1 : 1
  return leaves.sort((a, b) => sign * (positionOf(a) - positionOf(b)) || a - b)
}

type PageRequest = {
  readonly canvas: LoadedCanvas
  readonly query: MemberQuery
  readonly order: readonly number[]
  readonly name: string
  readonly from: number
}

async function page(system: System, { canvas, query, order, name, from }: PageRequest): Promise<ListAnswer> {
  const tasks: Task[] = []
  let at = from
  while (at < order.length && at < from + EXAMINED_MAX && tasks.length < query.limit) {
    const batch = order.slice(at, at + BATCH_LEAVES)
    const members = await readMembers(system, canvas, batch)
    const now = system.clock.now()
    for (const leaf of batch) {
      if (tasks.length === query.limit) break
      at += 1
      const task = members.get(leaf)
      if (task && matches(task, query.types, query, now)) tasks.push(task)
    }
  }
  const nextCursor = at < order.length ? encodeCursor(name, { sort: at - 1, id: '', range: 0 }) : undefined
  return { ok: true, tasks, ...defined({ nextCursor }) }
}
