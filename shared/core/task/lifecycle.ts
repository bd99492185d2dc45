import { ENDED_STATUSES, type STATUSES } from '../states.ts'
import type { Operation } from './head-fields.ts'
import type { RunState } from './task.ts'

/** The status of a task. Only a flow that undoes its steps is `compensating`. */
export type Status = (typeof STATUSES)[number]

/** An operation may lead from each status in `from` to each status in `to`. `none`: the task does not exist, or was removed. */
export type Move = {
  readonly from: ReadonlyArray<Status | 'none'>
  readonly to: ReadonlyArray<Status | 'none'>
}

const WAITING = ['delayed', 'ready'] as const
const OPEN = ['delayed', 'ready', 'running'] as const

/**
 * The whole lifecycle of a task: what each operation may do to its status. Property tests check every transition against this
 * table, and another test compares it with the diagram in `docs/lifecycle.md`. Time alone moves `delayed` to `ready`.
 */
export const LIFECYCLE: Readonly<Record<Operation, readonly Move[]>> = {
  publish: [{ from: ['none', ...ENDED_STATUSES], to: WAITING }],
  update: [{ from: WAITING, to: [...WAITING, 'succeeded', 'failed'] }],
  claim: [
    { from: ['ready', 'running'], to: ['running'] },
    { from: ['compensating'], to: ['compensating'] },
  ],
  beat: unchanged('running', 'compensating'),
  succeed: [
    { from: ['running'], to: [...OPEN, 'succeeded'] },
    { from: ['compensating'], to: ['compensating', 'failed', 'cancelled'] },
  ],
  // From `ready`: a claim that the store refused counts as a failed run.
  fail: [
    { from: ['ready'], to: [...WAITING, 'compensating', 'failed'] },
    { from: ['running'], to: [...OPEN, 'compensating', 'failed'] },
    { from: ['compensating'], to: ['compensating', 'failed'] },
  ],
  lose: [
    { from: ['running'], to: [...OPEN, 'compensating', 'failed'] },
    { from: ['compensating'], to: ['compensating', 'failed'] },
  ],
  release: [
    { from: ['running'], to: OPEN },
    { from: ['compensating'], to: ['compensating'] },
  ],
  expire: [
    { from: OPEN, to: ['compensating', 'failed'] },
    { from: ['compensating'], to: ['failed'] },
  ],
  // From `delayed`: a task for several workers leaves the place of running tasks while it waits for a retry.
  surface: unchanged(...OPEN, 'compensating'),
  throttle: unchanged('ready', 'running', 'compensating'),
  block: unchanged('ready', 'running', 'compensating'),
  patch: [
    { from: WAITING, to: [...WAITING, 'succeeded', 'failed'] },
    { from: ['running'], to: [...OPEN, 'succeeded', 'failed'] },
    { from: ['compensating'], to: ['compensating'] },
  ],
  // From `none`: a member of a cancelled canvas is stored as cancelled, so that no process publishes it any more.
  cancel: [
    { from: ['none'], to: ['cancelled'] },
    { from: OPEN, to: ['compensating', 'cancelled'] },
  ],
  remove: [{ from: [...OPEN, 'compensating', ...ENDED_STATUSES], to: ['none'] }],
  restart: [{ from: [...WAITING, ...ENDED_STATUSES], to: WAITING }],
  resume: [{ from: ['failed'], to: ['ready', 'compensating', 'succeeded', 'failed', 'cancelled'] }],
  tick: [{ from: ['ready'], to: ['delayed', 'succeeded'] }],
  settle: unchanged(...ENDED_STATUSES),
  owe: unchanged('succeeded', 'failed'),
}

/** The moves of an operation that leaves each of these statuses as it is. */
function unchanged(...statuses: readonly Status[]): Move[] {
  return statuses.map(status => ({ from: [status], to: [status] }))
}

/** The states of an ended run, and the operations that lead to each. An ended run never changes its state. */
export const RUN_MOVES: Readonly<Record<Exclude<RunState, 'running'>, readonly Operation[]>> = {
  succeeded: ['succeed'],
  failed: ['fail', 'expire'],
  lost: ['lose', 'claim', 'fail'],
  released: ['release', 'expire'],
  cancelled: ['cancel', 'patch', 'succeed', 'fail', 'lose'],
}
