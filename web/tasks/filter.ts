import { manyOf, oneOf } from '../api/search.ts'
import { STATUSES, type Status } from '../parts/status.tsx'

/** What the list of tasks shows. It stands in the address of the page. */
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
