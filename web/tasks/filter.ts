import type { ApiFailureGroup } from '../../shared/api/diagnosis/statistics.ts'
import { manyOf, oneOf } from '../api/search.ts'
import { STATUSES, type Status } from '../parts/format.ts'

/** What the list of tasks shows. The address of the page has it. */
export type TaskFilter = {
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
}

const ORDERS = ['-created', 'created', 'due', '-due', '-ended', 'ended'] as const
export type Order = (typeof ORDERS)[number]

export const ORDER_NAMES: Readonly<Record<Order, string>> = {
  '-created': 'Newest first',
  created: 'Oldest first',
  due: 'Due first',
  '-due': 'Due last',
  '-ended': 'Ended last',
  ended: 'Ended first',
}

const TEXTS = ['userId', 'canvasId', 'error', 'since', 'until'] as const

/** The filter in an address. What is not legal is left out. */
export function readTaskFilter(search: Record<string, unknown>): TaskFilter {
  const type = manyOf(search.type)
  const status = manyOf(search.status).filter((one): one is Status => STATUSES.some(known => known === one))
  const order = ORDERS.find(one => one === search.order)
  const texts = TEXTS.flatMap(name => {
    const value = oneOf(search[name])
    return value === undefined ? [] : [[name, value]]
  })
  const tag = manyOf(search.tag)
  return {
    ...(type.length > 0 && { type }),
    ...(status.length > 0 && { status }),
    ...Object.fromEntries(texts),
    ...(tag.length > 0 && { tag }),
    ...(order && { order }),
  }
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
