import { manyOf, oneOf } from '../api/search.ts'
import { STATUSES, type Status } from '../parts/status.tsx'

/** What the list of tasks shows. It stands in the address of the page. */
export type TaskFilter = {
  readonly type?: readonly string[]
  readonly status?: readonly Status[]
  readonly userId?: string
  readonly canvasId?: string
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

/** The filter in an address. What is not legal is left out. */
export function readTaskFilter(search: Record<string, unknown>): TaskFilter {
  const type = manyOf(search.type)
  const status = manyOf(search.status).filter((one): one is Status => STATUSES.some(known => known === one))
  const order = ORDERS.find(one => one === search.order)
  const [userId, canvasId] = [oneOf(search.userId), oneOf(search.canvasId)]
  return {
    ...(type.length > 0 && { type }),
    ...(status.length > 0 && { status }),
    ...(userId !== undefined && { userId }),
    ...(canvasId !== undefined && { canvasId }),
    ...(order && { order }),
  }
}
