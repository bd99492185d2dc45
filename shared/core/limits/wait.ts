import { type Decision, refuse, revise } from '../change/change.ts'
import { type Ordering, openSlots, type Task } from '../task/task.ts'
import type { Slot, Wait } from '../task/wait.ts'

/** `running`: all its workers are at work on it. */
export type WaitRefusal = 'finished' | 'running' | 'not-due' | 'waits-already'

/** The task waits for its turn: it is dispatched again when that comes. */
export function throttle(
  task: Task,
  turn: Slot & { readonly limit: string },
  now: number,
): Decision<WaitRefusal> {
  const { limit, at, rateText: terms } = turn
  return waiting(task, { kind: 'slot', limit, at, rateText: terms }, 'throttle', now)
}

/** The task waits in the limit's place until somebody gives a permit back. */
export function block(task: Task, limit: string, now: number): Decision<WaitRefusal> {
  return waiting(task, { kind: 'permit', limit }, 'block', now)
}

function waiting(
  task: Task,
  wait: Wait,
  operation: 'throttle' | 'block',
  now: number,
): Decision<WaitRefusal> {
  if (task.state !== 'open' || task.canvas || task.schedule) return refuse('finished')
  if (openSlots(task) === 0) return refuse('running')
  if (task.dueAt > now) return refuse('not-due')
  if (task.wait && waitsAsWell(task.wait, wait, now)) return refuse('waits-already')
  return revise(task, { ...task, operation, wait }, now)
}

/** Whether the present wait is as good as the new one: whoever asked anew had not seen it. */
function waitsAsWell(present: Wait, wait: Wait, now: number): boolean {
  if (present.kind !== wait.kind || present.limit !== wait.limit) return false
  return present.kind === 'permit' || (present.rateText === (wait as Slot).rateText && present.at > now)
}

/** The task waits no more, and is dispatched, or stands in its ready place, again. */
export function endWait(task: Task, now: number): Decision<'finished' | 'waits-not'> {
  if (task.state !== 'open') return refuse('finished')
  return task.wait ? revise(task, { ...task, operation: 'surface' }, now) : refuse('waits-not')
}

/**
 * The task is run in another order than the one it was published with; `isFair`: tenants of its type take turns by now, and
 * it names none.
 */
export function reorder(
  task: Task,
  { ordering, isFair }: { readonly ordering: Ordering; readonly isFair: boolean },
  now: number,
): Decision<'finished' | 'same-order'> {
  if (task.state !== 'open') return refuse('finished')
  const isNewlyFair = isFair && !task.isFair && task.fairnessKey === undefined
  if (task.ordering === ordering && !isNewlyFair) return refuse('same-order')
  const draft = { ...task, ordering, operation: 'patch' as const }
  return revise(task, isNewlyFair ? { ...draft, isFair: true } : draft, now)
}
