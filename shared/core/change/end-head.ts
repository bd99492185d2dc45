import { shortError, type TaskError } from '../task/error.ts'
import type { HeadFields, HeadState } from '../task/head-fields.ts'
import type { Task } from '../task/task.ts'
import { endRuns } from './end-runs.ts'

type EndState = Exclude<HeadState, 'open' | 'removed'>

/** The fields that each head gets at its end. Its retention begins. */
export function endFields<State extends EndState>(
  { options }: Pick<HeadFields, 'options'>,
  state: State,
  now: number,
  error?: TaskError,
) {
  return {
    state,
    finishedAt: now,
    expiresAt: now + options.retentionMs,
    ...(error && { error: shortError(error) }),
  }
}

/**
 * The draft of an ended task. Its live runs are cancelled, its retention begins, and it owes the callbacks for this end.
 */
export function withEnd(task: Task, state: EndState, now: number, error?: TaskError): Task {
  const { error: _earlier, owes: _owed, ...rest } = task
  return {
    ...rest,
    ...endFields(task, state, now, error),
    ...endRuns(task, Object.keys(task.live), { state: 'cancelled' }, now),
    retrying: false,
    retryAtBy: {},
    ...(owesCallbacks(task, state) && { owes: true as const }),
  }
}

/** A cancelled task publishes no callbacks. */
function owesCallbacks({ callbacks }: Task, state: EndState): boolean {
  if (!callbacks) return false
  return (state === 'succeeded' && callbacks.onSuccess > 0) || (state === 'failed' && callbacks.onError > 0)
}
