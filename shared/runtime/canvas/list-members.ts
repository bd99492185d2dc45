import type { Task } from '../../core/task/task.ts'
import { defined } from '../../core/values/values.ts'
import type { System } from '../kernel/system.ts'
import { type ListAnswer, refused } from '../list/list.ts'
import type { ListQuery } from '../list/list-query.ts'
import { decodeCursor, encodeCursor, filterName, matches, sortKeyOf } from '../list/list-query.ts'
import { type LoadedCanvas, readCanvasOf, readMembers } from './canvas.ts'

export type MemberQuery = Omit<ListQuery, 'types'> & {
  /** The id of the canvas. */
  readonly canvasId: string
  /** None means every type. */
  readonly types: readonly string[]
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
