import { type Decision, refuse, revise } from '../change/change.ts'
import { type Task, workersWanted } from '../task/task.ts'
import type { Slot, Wait } from '../task/wait.ts'

/** Why a task does not begin to wait. `running`: it wants no more workers. */
export type WaitRefusal = 'finished' | 'running' | 'not-due' | 'waits-already'

/** Makes the task wait for its slot under a rate limit. It is dispatched again at the time of the slot. */
export function throttle(
  task: Task,
  { limit, at, rateText }: Slot & { readonly limit: string },
  now: number,
): Decision<WaitRefusal> {
  return waiting(task, { kind: 'slot', limit, at, rateText }, 'throttle', now)
}

/** Makes the task wait for a permit under a concurrency limit. A look at the limit admits it after a run gave a permit back. */
export function block(task: Task, limit: string, now: number): Decision<WaitRefusal> {
  return waiting(task, { kind: 'permit', limit }, 'block', now)
}

function waiting(
  task: Task,
  wait: Wait,
  operation: 'throttle' | 'block',
  now: number,
): Decision<WaitRefusal> {
  if (task.state !== 'open') return refuse('finished')
  if (workersWanted(task) === 0) return refuse('running')
  if (task.dueAt > now) return refuse('not-due')
  if (task.wait && waitsAlready(task.wait, wait, now)) return refuse('waits-already')
  return revise(task, { ...task, operation, wait }, now)
}

/** Whether the present wait makes the new one needless. The worker that asks for the new one has not seen the present one. */
function waitsAlready(present: Wait, wait: Wait, now: number): boolean {
  if (present.kind !== wait.kind || present.limit !== wait.limit) return false
  return present.kind === 'permit' || (present.rateText === (wait as Slot).rateText && present.at > now)
}

/** Ends the wait of the task, which is then dispatched again or returns to its ready place. */
export function endWait(task: Task, now: number): Decision<'finished' | 'waits-not'> {
  if (task.state !== 'open') return refuse('finished')
  return task.wait ? revise(task, { ...task, operation: 'surface' }, now) : refuse('waits-not')
}
