import { type Change, revise } from '../change/change.ts'
import { endRuns } from '../change/end-runs.ts'
import { withFailedPiece } from '../flow/end-piece.ts'
import type { TaskError } from '../task/error.ts'
import type { Task } from '../task/task.ts'

/** Whether the task's deadline has passed. A passed deadline ends the task even while it has live runs. */
export function isPastDeadline(task: Task, now: number): boolean {
  return task.state === 'open' && task.deadlineAt !== undefined && task.deadlineAt <= now
}

/** Fails the task, or the step of a flow, for good because its deadline has passed. Its live runs fail with it. */
export function expire(task: Task, now: number): Change<Task> {
  const error = deadlineExceeded(task)
  const live = Object.keys(task.live)
  const runs = endRuns(task, live, { state: 'failed', cause: 'timed-out', error }, now)
  const draft: Task = { ...task, ...runs, operation: 'expire' }
  return revise(task, withFailedPiece(draft, now, error, live.length), now).change
}

/** The error of a task whose deadline has passed, and of its live runs. */
export function deadlineExceeded({ options, flow, deadlineAt }: Task): TaskError {
  const isOfFlow = flow !== undefined && flow.direction === 'do' && deadlineAt === flow.deadlineAt
  if (isOfFlow) return exceeded(`the flow was not done within ${flow.deadlineMs} ms of its due time`)
  const since = flow ? 'its first claim' : 'its due time'
  return exceeded(`not done within ${options.deadlineMs} ms of ${since}`)
}

function exceeded(message: string): TaskError {
  return { name: 'DeadlineExceeded', message }
}
