import { backoffMs } from './backoff.ts'
import { shortError } from './body.ts'
import { pieceFailed, pieceSucceeded } from './flow/end-piece.ts'
import { liveRuns, successes, type Task, type TaskError } from './task.ts'

/** The draft after one more failed or lost run: counted, and its piece failed when the budget can no longer yield success. */
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
  return canStillSucceed(counted) ? counted : pieceFailed(counted, now, error)
}

/** The draft, past its piece if its options, changed meanwhile, ask for no more or leave no budget. */
export function settled(draft: Task, now: number): Task {
  if (successes(draft).length >= draft.options.concurrency) return pieceSucceeded(draft, now)
  return canStillSucceed(draft) ? draft : pieceFailed(draft, now, draft.error)
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
