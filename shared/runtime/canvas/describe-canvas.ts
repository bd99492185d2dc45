import { ANSWER_BYTES_MAX } from '../../core/bounds.ts'
import { type Evaluation, evaluate } from '../../core/canvas/evaluate.ts'
import { nodeValue, valueLeaves } from '../../core/canvas/node-value.ts'
import { nodeAt, pathOf } from '../../core/canvas/tree.ts'
import { escapedBytes, type Json } from '../../core/json.ts'
import { isGone } from '../../core/publish/publish.ts'
import { MEMBER_STATUSES } from '../../core/states.ts'
import { statusOf } from '../../core/status/status.ts'
import { resultOf } from '../../core/task/result.ts'
import type { Task, TaskError } from '../../core/task/task.ts'
import { bodyValue } from '../kernel/living-bodies.ts'
import type { System } from '../kernel/system.ts'
import { decodeCursor, encodeCursor } from '../list/list-cursor.ts'
import { type Canvas, loadCanvas, memberId } from './canvas.ts'
import { impliedError } from './end-canvas.ts'
import { type KnownEnds, readAllEnds } from './known-ends.ts'
import { memberResults } from './member-results.ts'

type MemberStatus = (typeof MEMBER_STATUSES)[number]

type CanvasItem = {
  readonly path: string
  readonly taskId: string
  readonly status: MemberStatus
  readonly result?: Json
  readonly error?: TaskError
}

export type CanvasDescription = {
  readonly head: Task
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
/** A page of members takes so much of the rest: one result of 350 KB takes at most twice as much, escaped. */
const MAX_ITEM_BYTES = 1.75 * 1024 * 1024
const MAX_RESULT_BYTES = ANSWER_BYTES_MAX - FRAME_BYTES - MAX_ITEM_BYTES
/** The result of a canvas is put together from so many members at most; beyond, they are read page by page. */
const MOST_RESULTS = 10_000
/** Of so many members each head is read to count them; of more, their ends, and the rest of those that may have started counts as running. */
const MOST_COUNTED = 200

/** A canvas with a page of its members, in the order of the body. */
export async function readCanvas(
  system: System,
  id: string,
  { limit, cursor }: { readonly limit: number; readonly cursor?: string },
): Promise<CanvasRead> {
  const head = await system.tasks.head(id)
  if (!head?.canvas || isGone(head, system.clock.now())) return { ok: false, reason: 'unknown' }
  const name = `${id} ${head.born}`
  const after = cursor === undefined ? undefined : decodeCursor(name, cursor)
  if (cursor !== undefined && !after) return { ok: false, reason: 'strange-cursor' }
  const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
  if (!canvas) return { ok: false, reason: 'unknown' }
  const from = after ? Number(after.sort) + 1 : 0
  const described = await describe(await view(system, canvas, head), from, limit)
  const next = from + described.items.length
  const nextCursor = next < canvas.leaves && encodeCursor(name, { sort: next - 1, id: '', range: 0 })
  return { ok: true, canvas: { ...described, ...(nextCursor && { nextCursor }) } }
}

/** The result stands on the first page. */
async function describe(seen: Seen, from: number, limit: number): Promise<CanvasDescription> {
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

/** A canvas as it is seen now. */
type Seen = {
  readonly system: System
  readonly canvas: Canvas
  readonly head: Task
  readonly known: KnownEnds
  readonly evaluation: Evaluation
}

async function view(system: System, canvas: Canvas, head: Task): Promise<Seen> {
  const known = await readAllEnds(system, canvas)
  return { system, canvas, head, known, evaluation: evaluate(canvas.tree, known.endOf) }
}

async function headsOf({ system, canvas }: Seen, leaves: readonly number[]): Promise<Map<string, Task>> {
  const heads = await system.tasks.heads(leaves.map(leaf => memberId(canvas, leaf)))
  return new Map(heads.map(task => [task.id, task]))
}

/** What a task tells itself comes first; else what its canvas has counted, or knows to come. */
function statusOfMember(
  { system, head, known, evaluation }: Seen,
  leaf: number,
  task: Task | undefined,
): MemberStatus {
  const now = system.clock.now()
  if (task?.state === 'removed') return 'cancelled'
  if (task && !isGone(task, now)) return statusOf(task, now)
  const reach = evaluation.reachOf(leaf)
  if (reach === 'skipped') return 'skipped'
  return known.endOf(leaf) ?? (head.state === 'cancelled' ? 'cancelled' : 'pending')
}

async function countsOf(seen: Seen): Promise<Record<MemberStatus, number>> {
  const { canvas, known, evaluation } = seen
  const counts = Object.fromEntries(MEMBER_STATUSES.map(status => [status, 0])) as Record<
    MemberStatus,
    number
  >
  const leaves = canvas.types.map((_type, leaf) => leaf)
  const heads = canvas.leaves <= MOST_COUNTED ? await headsOf(seen, leaves) : undefined
  for (const leaf of leaves) {
    const isUnseen = !heads && known.endOf(leaf) === undefined && evaluation.reachOf(leaf) === 'ready'
    const status = statusOfMember(seen, leaf, heads?.get(memberId(canvas, leaf)))
    counts[isUnseen && status === 'pending' ? 'running' : status] += 1
  }
  return counts
}

/** As many as there is room for, but at least one. */
async function itemsOf(seen: Seen, from: number, limit: number): Promise<CanvasItem[]> {
  const { canvas } = seen
  const to = Math.min(from + limit, canvas.leaves)
  const leaves = Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index)
  const heads = await headsOf(seen, leaves)
  const items: CanvasItem[] = []
  let room = MAX_ITEM_BYTES
  for (const leaf of leaves) {
    const item = await itemOf(seen, leaf, heads.get(memberId(canvas, leaf)))
    room -= escapedBytes(item as unknown as Json) + 1
    if (room < 0 && items.length > 0) break
    items.push(item)
  }
  return items
}

async function itemOf(seen: Seen, leaf: number, task: Task | undefined): Promise<CanvasItem> {
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

/** Undefined unless it has succeeded, and when it is too long for one answer. */
async function canvasResult(system: System, canvas: Canvas, head: Task): Promise<Json | undefined> {
  if (head.state !== 'succeeded') return undefined
  const root = nodeAt(canvas.tree, 0)
  const leaves = valueLeaves(canvas.tree, root)
  if (leaves.length > MOST_RESULTS) return undefined
  const results = await memberResults(system, canvas, leaves, MAX_RESULT_BYTES)
  if (results === 'too-long') return undefined
  if (!results) return undefined
  const value = nodeValue(canvas.tree, root, leaf => results.get(leaf) ?? null)
  return escapedBytes(value) <= MAX_RESULT_BYTES ? value : undefined
}
