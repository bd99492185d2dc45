import { FAILING_WORKERS_MAX } from '../bounds.ts'
import { withFailedPiece, withSucceededPiece } from '../flow/pieces.ts'
import { failuresOf } from '../task/piece.ts'
import { liveRuns, successes, type Task } from '../task/task.ts'
import { shortError, type TaskError } from '../task-error/task-error.ts'
import { membersWhere } from '../values/values.ts'
import { isInvocation } from '../worker.ts'

/** The draft after one more failed or lost run. The failure is counted. The piece fails when the budget no longer allows it to succeed. */
export function withFailure(task: Task, workerId: string, error: TaskError, now: number): Task {
  const perWorker = task.options.retry.scope === 'worker'
  const counted: Task = {
    ...task,
    failures: task.failures + 1,
    failuresBy: perWorker
      ? boundedFailures(task, { ...task.failuresBy, [workerId]: failuresOf(task, workerId) + 1 }, workerId)
      : task.failuresBy,
    error: shortError(error),
  }
  return canStillSucceed(counted) ? counted : withFailedPiece(counted, now, error)
}

/** The draft after a change of its options. Its piece ends if the options ask for no more successes, or leave no budget. */
export function judgeBudget(draft: Task, now: number): Task {
  if (successes(draft).length >= draft.options.concurrency) return withSucceededPiece(draft, now)
  return canStillSucceed(draft) ? draft : withFailedPiece(draft, now, draft.error)
}

/** Whether the retry budget still allows as many successes as the task asks for. */
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

/**
 * The failures by worker, for at most `FAILING_WORKERS_MAX` workers. Each Lambda invocation is a worker of its own, and a head has
 * room for no more.
 *
 * Workers that cannot claim again are dropped first: workers that the task does not list, and ended invocations. Next are workers
 * with the fewest failures: a dropped worker that returns gains as many runs as it had failures. The worker that has just failed
 * and the workers with a live run are kept. Dropped failures still count for the task's whole budget.
 */
function boundedFailures(task: Task, failuresBy: Task['failuresBy'], failing: string): Task['failuresBy'] {
  const excess = Object.keys(failuresBy).length - FAILING_WORKERS_MAX
  if (excess <= 0) return failuresBy
  const { workerIds } = task.options
  const running = new Set(liveRuns(task).map(run => run.workerId))
  const mayComeBack = (id: string) =>
    workerIds.length > 0 ? workerIds.includes(id) : running.has(id) || !isInvocation(id)
  const worth = (id: string) => [id === failing || running.has(id), mayComeBack(id)].map(Number)
  const forgotten = Object.entries(failuresBy)
    .map(([id, failures]) => ({ id, rank: [...worth(id), failures] }))
    .sort((a, b) => byRank(a.rank, b.rank) || (a.id < b.id ? -1 : 1))
    .slice(0, excess)
    .map(({ id }) => id)
  return membersWhere(failuresBy, (_, id) => !forgotten.includes(id))
}

function byRank(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, index) => value !== b[index])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}
