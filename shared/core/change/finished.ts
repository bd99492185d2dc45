import { shortError } from '../task/body.ts'
import type { Task, TaskError, TaskState } from '../task/task.ts'
import { endRuns } from './end-runs.ts'

/**
 * The draft of an ended task. Its live runs are cancelled, its retention begins, and it owes the callbacks for such an end.
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

/** A cancelled task publishes no callbacks. A cancelled canvas owes the cancellation of its members. */
function owesAt({ callbacks, canvas }: Task, state: TaskState): boolean {
  if (canvas) return state === 'cancelled'
  if (!callbacks) return false
  return (state === 'succeeded' && callbacks.onSuccess > 0) || (state === 'failed' && callbacks.onError > 0)
}
