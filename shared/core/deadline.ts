import { type Change, revise } from './change.ts'
import { endRuns } from './end-runs.ts'
import { finished } from './settle.ts'
import type { Task, TaskError } from './task.ts'

/** Whether the task's deadline has passed; it is final whatever its runs are doing. */
export function isPastDeadline(task: Task, now: number): boolean {
  return task.state === 'open' && task.deadlineAt !== undefined && task.deadlineAt <= now
}

/** The task fails for good because its deadline passed; its live runs end with it. */
export function expire(task: Task, now: number): Change {
  const error = deadlineExceeded(task)
  const runs = endRuns(task, Object.keys(task.live), { state: 'failed', cause: 'timed-out', error }, now)
  return revise(task, finished({ ...task, ...runs, operation: 'expire' }, 'failed', now, error), now).change
}

/** Why a task fails, and each run with it, whose deadline has passed. */
export function deadlineExceeded({ options }: Task): TaskError {
  return { name: 'DeadlineExceeded', message: `not done within ${options.deadlineMs} ms of its due time` }
}
