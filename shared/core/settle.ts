import { backoffMs } from './backoff.ts'
import { shortError } from './body.ts'
import { endRuns } from './end-runs.ts'
import { liveRuns, successes, type Task, type TaskError, type TaskState } from './task.ts'

/** The draft of a task that has come to its end: live runs are cancelled, and its retention begins. */
export function finished(
  task: Task,
  state: Exclude<TaskState, 'open' | 'removed'>,
  now: number,
  error?: TaskError,
): Task {
  const { error: _earlier, ...rest } = task
  return {
    ...rest,
    ...endRuns(task, Object.keys(task.live), { state: 'cancelled' }, now),
    state,
    retrying: false,
    finishedAt: now,
    expiresAt: now + task.options.retentionMs,
    ...(error && { error: shortError(error) }),
  }
}

/** The draft after one more failed or lost run: counted, and final when the budget can no longer yield success. */
export function failureCounted(task: Task, workerId: string, error: TaskError, now: number): Task {
  const perWorker = task.options.retry.scope === 'worker'
  const counted: Task = {
    ...task,
    failures: task.failures + 1,
    failuresBy: perWorker
      ? { ...task.failuresBy, [workerId]: failuresOf(task, workerId) + 1 }
      : task.failuresBy,
    error: shortError(error),
  }
  return canStillSucceed(counted) ? counted : finished(counted, 'failed', now, error)
}

/** The draft, at its end if its options, changed meanwhile, ask for no more or leave no budget. */
export function settled(draft: Task, now: number): Task {
  if (successes(draft).length >= draft.options.concurrency) return finished(draft, 'succeeded', now)
  return canStillSucceed(draft) ? draft : finished(draft, 'failed', now, draft.error)
}

/** Whether the retry budget can still yield as many successes as the task asks for. */
function canStillSucceed(task: Task): boolean {
  const { concurrency, retry, workerIds } = task.options
  if (retry.scope === 'task') return task.failures <= retry.maxRetries
  if (workerIds.length === 0) return task.failures < concurrency * (retry.maxRetries + 1)
  const done = new Set(successes(task).map(run => run.workerId))
  const running = new Set(liveRuns(task).map(run => run.workerId))
  const hopeful = workerIds.filter(
    id => !done.has(id) && (running.has(id) || failuresOf(task, id) <= retry.maxRetries),
  )
  return done.size + hopeful.length >= concurrency
}

/** Failed and lost runs of one worker (a worker may be called `constructor`). */
export function failuresOf(task: Task, workerId: string): number {
  return Object.hasOwn(task.failuresBy, workerId) ? (task.failuresBy[workerId] ?? 0) : 0
}

/** Wait before the retry that follows the failure just counted. */
export function retryDelayMs(task: Task, workerId: string, chance: number): number {
  const { retry } = task.options
  const failures = retry.scope === 'worker' ? failuresOf(task, workerId) : task.failures
  return backoffMs(retry, Math.max(1, failures), chance)
}
