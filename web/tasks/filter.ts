import type { ApiFailureGroup } from '../../shared/api/diagnosis/statistics.ts'
import { areOpen } from '../../shared/core/states.ts'
import { manyOf, oneOf } from '../api/search.ts'
import { STATUSES, type Status } from '../parts/format.ts'

/** What the list of tasks shows. The address of the page has it. */
export type TaskFilter = {
  /** A text that is searched for. The page then shows what is found, whatever the other filters say. */
  readonly q?: string
  readonly type?: readonly string[]
  readonly status?: readonly Status[]
  readonly userId?: string
  readonly canvasId?: string
  /** Tags, each as `name:value`. */
  readonly tag?: readonly string[]
  /** Text that the error contains. */
  readonly error?: string
  readonly since?: string
  readonly until?: string
  readonly order?: Order
  /** The columns of the list. */
  readonly columns?: readonly ColumnName[]
}

export const COLUMN_NAMES = ['state', 'user', 'tags', 'runs', 'created', 'when'] as const
export type ColumnName = (typeof COLUMN_NAMES)[number]
const USUAL_COLUMNS: readonly ColumnName[] = ['state', 'user', 'runs', 'when']

export function columnsOf({ columns = USUAL_COLUMNS }: TaskFilter): readonly ColumnName[] {
  return columns
}

type Order = '-created' | 'created' | 'due' | '-due' | '-ended' | 'ended'

/**
 * The orders in which any number of tasks can be listed, with their names, the usual one first. The API sorts in other orders, too, but
 * only few tasks.
 */
export function ordersOf({ userId, canvasId, status = [] }: Omit<TaskFilter, 'order'>) {
  if (canvasId !== undefined) return CREATED.toReversed()
  if (userId !== undefined) return CREATED
  return areOpen(status) ? DUE : ENDED
}

type NamedOrders = ReadonlyArray<readonly [order: Order, name: string]>

const CREATED: NamedOrders = [
  ['-created', 'Newest first'],
  ['created', 'Oldest first'],
]
const DUE: NamedOrders = [
  ['due', 'Due first'],
  ['-due', 'Due last'],
]
const ENDED: NamedOrders = [
  ['-ended', 'Latest first'],
  ['ended', 'Oldest first'],
]

const TEXTS = ['q', 'userId', 'canvasId', 'error', 'since', 'until'] as const

/** The filter in an address. What is not legal is left out. */
export function readTaskFilter(search: Record<string, unknown>): TaskFilter {
  const type = manyOf(search.type)
  const status = manyOf(search.status).filter((one): one is Status => STATUSES.some(known => known === one))
  const columns = COLUMN_NAMES.filter(name => manyOf(search.columns).includes(name))
  const texts = TEXTS.flatMap(name => {
    const value = oneOf(search[name])
    return value === undefined ? [] : [[name, value]]
  })
  const tag = manyOf(search.tag)
  const filter = {
    ...(type.length > 0 && { type }),
    ...(status.length > 0 && { status }),
    ...Object.fromEntries(texts),
    ...(tag.length > 0 && { tag }),
    ...(columns.length > 0 && { columns }),
  }
  const [order] = ordersOf(filter).find(([name]) => name === search.order) ?? []
  return { ...filter, ...(order && { order }) }
}

const CHARACTERS_MIN = 4
const CHARACTERS_MAX = 100

/**
 * The longest part of a group's error by which its tasks can be found: the error has `#` in place of what differs, so the whole of it
 * is in no task. Undefined when each part is too short to distinguish errors.
 */
export function searchedPart(error: string): string | undefined {
  // The name comes before the message, and tasks keep the two apart.
  const message = error.includes(': ') ? error.slice(error.indexOf(': ') + 2) : error
  const parts = message.split('#').map(part => part.trim())
  const [longest = ''] = parts.sort((a, b) => b.length - a.length)
  return longest.length < CHARACTERS_MIN ? undefined : longest.slice(0, CHARACTERS_MAX).trim()
}

/** The filter of the list of tasks that finds the failed tasks of a group. */
export type TasksOfGroup = NonNullable<ReturnType<typeof tasksOfGroup>>

/** The failed tasks of a group; undefined when its error has no part by which they can be found. No task of it failed before `firstAt`. */
export function tasksOfGroup(group: Pick<ApiFailureGroup, 'type' | 'error' | 'firstAt'>) {
  const error = searchedPart(group.error)
  if (error === undefined) return undefined
  // `since` is about the time by which the list is ordered.
  return { type: [group.type], status: ['failed'], since: group.firstAt, order: '-ended', error } as const
}
