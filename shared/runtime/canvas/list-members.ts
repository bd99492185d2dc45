import { isGone } from '../../core/publish/publish.ts'
import { statusOf } from '../../core/status/status.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { Task } from '../../core/task/task.ts'
import type { System } from '../kernel/system.ts'
import type { ListAnswer } from '../list/list.ts'
import { decodeCursor, encodeCursor } from '../list/list-cursor.ts'
import type { ListOrder } from '../list/list-query.ts'
import { sortKeyOf } from '../list/sorted-list.ts'
import { type Canvas, loadCanvas, memberId } from './canvas.ts'

export type MemberQuery = {
  /** Id of the canvas. */
  readonly canvasId: string
  readonly type?: string
  readonly userId?: string
  readonly statuses: readonly Status[]
  readonly order: ListOrder
  readonly limit: number
  readonly cursor?: string
}

/** Heads that one call looks at; where few of them match, pages are short but a cursor leads on. */
const MOST_EXAMINED = 1_000
const BATCH = 100

/**
 * One page of a canvas's tasks, as far as they are published, heads only; undefined when there is no such canvas. The
 * ids of its members follow from it, so that no index is asked: `created` is their order in the body. Other orders are sorted
 * in memory, of canvases that are not too large for it.
 */
export async function listMembers(system: System, query: MemberQuery): Promise<ListAnswer | undefined> {
  const head = await system.tasks.head(query.canvasId)
  if (!head?.canvas || isGone(head, system.clock.now())) return undefined
  const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
  if (!canvas) return undefined
  const name = JSON.stringify([
    canvas.born,
    query.canvasId,
    query.type ?? null,
    query.userId ?? null,
    [...query.statuses].sort(),
    query.order,
  ])
  const after = query.cursor === undefined ? undefined : decodeCursor(name, query.cursor)
  if (query.cursor !== undefined && !after) return refused('cursor', 'is none of this query')
  const order = await orderOf(system, canvas, query)
  if (!order)
    return refused('order', `${query.order} sorts at most ${MOST_EXAMINED} members: use created or -created`)
  return page(system, { canvas, query, order, name, from: after ? Number(after.sort) + 1 : 0 })
}

function refused(path: string, message: string): ListAnswer {
  return { ok: false, problem: { path, message } }
}

/** The leaves in the query's order. */
async function orderOf(
  system: System,
  canvas: Canvas,
  { order }: MemberQuery,
): Promise<number[] | undefined> {
  const leaves = canvas.types.map((_type, leaf) => leaf)
  if (order === 'created') return leaves
  if (order === '-created') return leaves.reverse()
  if (canvas.leaves > MOST_EXAMINED) return undefined
  const heads = await system.tasks.heads(leaves.map(leaf => memberId(canvas, leaf)))
  const sorts = new Map(heads.map(head => [head.id, sortKeyOf(head, order)]))
  const placeOf = (leaf: number) => sorts.get(memberId(canvas, leaf)) ?? 0
  const sign = order.startsWith('-') ? -1 : 1
  return leaves.sort((a, b) => sign * (placeOf(a) - placeOf(b)) || a - b)
}

type Walk = {
  readonly canvas: Canvas
  readonly query: MemberQuery
  readonly order: readonly number[]
  readonly name: string
  readonly from: number
}

async function page(system: System, { canvas, query, order, name, from }: Walk): Promise<ListAnswer> {
  const tasks: Task[] = []
  let at = from
  while (at < order.length && at < from + MOST_EXAMINED && tasks.length < query.limit) {
    const batch = order.slice(at, at + BATCH)
    const found = await headsAt(system, canvas, batch)
    at += fill(tasks, found, query, system.clock.now())
  }
  const nextCursor = at < order.length ? encodeCursor(name, { sort: at - 1, id: '', range: 0 }) : undefined
  return { ok: true, tasks, ...(nextCursor !== undefined && { nextCursor }) }
}

async function headsAt(
  { tasks }: System,
  canvas: Canvas,
  leaves: readonly number[],
): Promise<Array<Task | undefined>> {
  const ids = leaves.map(leaf => memberId(canvas, leaf))
  const heads = new Map((await tasks.heads(ids)).map(task => [task.id, task]))
  return ids.map(id => heads.get(id))
}

/** Adds what matches until the page is full; answers how many were looked at for it. */
function fill(
  tasks: Task[],
  found: ReadonlyArray<Task | undefined>,
  query: MemberQuery,
  now: number,
): number {
  for (const [index, task] of found.entries()) {
    if (tasks.length === query.limit) return index
    if (task && matches(task, query, now)) tasks.push(task)
  }
  return found.length
}

function matches(task: Task, { type, userId, statuses }: MemberQuery, now: number): boolean {
  if (isGone(task, now)) return false
  if (type !== undefined && task.type !== type) return false
  if (userId !== undefined && task.userId !== userId) return false
  return statuses.length === 0 || statuses.includes(statusOf(task, now))
}
