import { shortError } from '../task/body.ts'
import type { Task, TaskError, TaskState } from '../task/task.ts'
import { endRuns } from './end-runs.ts'

/**
 * The draft of a task that has come to its end: live runs are cancelled, its retention begins, and callbacks for such an
 * end are owed from now on.
 */
export function finished(
  task: Task,
  state: Exclude<TaskState, 'open' | 'removed'>,
  now: number,
  error?: TaskError,
): Task {
  const { error: _earlier, owes: _owed, ...rest } = task
  return {
    ...rest,
    ...endRuns(task, Object.keys(task.live), { state: 'cancelled' }, now),
    state,
    retrying: false,
    finishedAt: now,
    expiresAt: now + task.options.retentionMs,
    ...(error && { error: shortError(error) }),
    ...(owesAt(task, state) && { owes: true as const }),
  }
}

/** What was cancelled by a person calls nobody back; a canvas then has to cancel its members. */
function owesAt({ callbacks, canvas }: Task, state: TaskState): boolean {
  if (canvas) return state === 'cancelled'
  if (!callbacks) return false
  return (state === 'succeeded' && callbacks.onSuccess > 0) || (state === 'failed' && callbacks.onError > 0)
}
