import { isGone } from '../../core/publish/publish.ts'
import { statusOf } from '../../core/status/status.ts'
import { isCanvas } from '../../core/task/head.ts'
import type { Status } from '../../core/task/lifecycle.ts'
import type { Task } from '../../core/task/task.ts'
import { readHead, readTasks, readTasksById } from '../kernel/heads.ts'
import type { System } from '../kernel/system.ts'
import type { ListAnswer } from '../list/list.ts'
import {
  decodeCursor,
  encodeCursor,
  filterName,
  type ListFilter,
  type ListOrder,
  passes,
  sortKeyOf,
} from '../list/list-query.ts'
import { type LoadedCanvas, loadCanvas, memberId } from './canvas.ts'

export type MemberQuery = ListFilter & {
  /** The id of the canvas. */
  readonly canvasId: string
  /** None means every type. */
  readonly types: readonly string[]
  readonly userId?: string
  readonly statuses: readonly Status[]
  readonly order: ListOrder
  readonly limit: number
  readonly cursor?: string
}

/**
 * One call reads at most this many heads. Where few of them match, a page is short, and its cursor leads to the
 * rest.
 */
const EXAMINED_MAX = 1_000
const BATCH_LEAVES = 100

/**
 * Lists one page of the published tasks of a canvas, heads only; undefined when there is no such canvas. The
 * ids of the members follow from the canvas, so no index is read, and `created` is the order of the publish
 * body. Other orders are sorted in memory, up to a bounded number of members.
 */
export async function listMembers(system: System, query: MemberQuery): Promise<ListAnswer | undefined> {
  const head = await readHead(system, query.canvasId, isCanvas)
  if (!head?.canvas || isGone(head, system.clock.now())) return undefined
  const canvas = await loadCanvas(system, { canvasId: head.key, born: head.born }, head)
  if (!canvas) return undefined
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

function refused(path: string, message: string): ListAnswer {
  return { ok: false, problem: { path, message } }
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
  const heads = await readTasks(
    system,
    leaves.map(leaf => memberId(canvas, leaf)),
  )
  const sorts = new Map(heads.map(head => [head.id, sortKeyOf(head, order)]))
  const positionOf = (leaf: number) => sorts.get(memberId(canvas, leaf)) ?? 0
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
    const found = await headsAt(system, canvas, batch)
    at += fill(tasks, found, query, system.clock.now())
  }
  const nextCursor = at < order.length ? encodeCursor(name, { sort: at - 1, id: '', range: 0 }) : undefined
  return { ok: true, tasks, ...(nextCursor !== undefined && { nextCursor }) }
}

async function headsAt(
  { tasks }: System,
  canvas: LoadedCanvas,
  leaves: readonly number[],
): Promise<Array<Task | undefined>> {
  const ids = leaves.map(leaf => memberId(canvas, leaf))
  const heads = await readTasksById({ tasks }, ids)
  return ids.map(id => heads.get(id))
}

/** Adds the matching tasks until the page is full; returns how many heads it looked at. */
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

function matches(task: Task, query: MemberQuery, now: number): boolean {
  const { types, userId, statuses } = query
  if (isGone(task, now)) return false
  if (types.length > 0 && !types.includes(task.type)) return false
  if (!passes(task, sortKeyOf(task, query.order), query)) return false
  if (userId !== undefined && task.userId !== userId) return false
  return statuses.length === 0 || statuses.includes(statusOf(task, now))
}
