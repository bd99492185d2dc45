import { BatonError } from '../../../core/errors.ts'
import type { Head } from '../../../core/task/head.ts'
import type { CanvasState, ScheduleState } from '../../../core/task/head-fields.ts'
import type { Task } from '../../../core/task/task.ts'

/**
 * The members of all kinds of heads together. An item has an attribute for each member that its kind has and whose value is not
 * the default.
 */
export type HeadMembers = Omit<Task, 'kind'> & {
  readonly kind: Head['kind']
  readonly canvas?: CanvasState
  readonly schedule?: ScheduleState
}

/** What only tasks always have, with the values that an item leaves out. */
const DEFAULTS_OF_TASKS = {
  ordering: 'arrival',
  retrying: false,
  priority: 0,
  live: {},
  ended: {},
  failures: 0,
  failuresBy: {},
  retryAtBy: {},
} as const satisfies Partial<Task>

export function membersOf(head: Head): HeadMembers {
  return { ...DEFAULTS_OF_TASKS, ...head }
}

/**
 * The head with the members of its kind.
 *
 * @throws BatonError `invalid` for a canvas or a schedule that lacks what it consists of.
 */
export function headOf(members: HeadMembers): Head {
  const { id, state, kind, input, canvas, schedule } = members
  if (kind !== 'canvas' && kind !== 'schedule') return { ...members, kind }
  const isWhole =
    state === 'removed' || canvas !== undefined || (schedule !== undefined && input !== undefined)
  if (!isWhole)
    throw new BatonError('invalid', `${id} is stored as a ${kind} without what a ${kind} consists of`)
  const own = Object.entries(members).filter(([name]) => !Object.hasOwn(DEFAULTS_OF_TASKS, name))
  return { ...Object.fromEntries(own), kind } as Head
}
