import { type Decision, refuse, revise } from '../change/change.ts'
import { type Task, workersWanted } from '../task/task.ts'
import type { Wait } from '../task/wait.ts'

/** Why a task does not begin to wait. `running`: it wants no more workers. */
export type WaitRefusal = 'finished' | 'running' | 'not-due' | 'waits-already'

/** Makes the task join the line of a limit: it waits for a slot, or for a permit. */
export function joinLine(task: Task, line: Wait, now: number): Decision<WaitRefusal> {
  if (task.state !== 'open') return refuse('finished')
  if (workersWanted(task) === 0) return refuse('running')
  if (task.dueAt > now) return refuse('not-due')
  if (isInLine(task, line)) return refuse('waits-already')
  const { kind, limit } = line
  const operation = kind === 'slot' ? 'throttle' : 'block'
  return revise(task, { ...task, operation, wait: { kind, limit } }, now)
}

/** Whether the task waits in this line. */
export function isInLine({ wait }: Pick<Task, 'wait'>, { kind, limit }: Wait): boolean {
  return wait?.kind === kind && wait.limit === limit
}

/** Ends the wait of the task, which then returns to its ready place or is dispatched again. */
export function endWait(task: Task, now: number): Decision<'finished' | 'waits-not'> {
  if (task.state !== 'open') return refuse('finished')
  return task.wait ? revise(task, { ...task, operation: 'surface' }, now) : refuse('waits-not')
}
