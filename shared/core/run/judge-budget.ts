import { DELAY_MS_MAX, FAILING_WORKERS_MAX } from '../bounds.ts'
import { withFailedPiece, withSucceededPiece } from '../flow/pieces.ts'
import type { Retry } from '../options.ts'
import { failuresOf } from '../task/piece.ts'
import { liveRuns, successes, type Task } from '../task/task.ts'
import { shortError, type TaskError } from '../task-error/task-error.ts'
import { membersWhere } from '../values/values.ts'
import { isInvocation } from '../worker.ts'

/**
 * The draft after one more failed or lost run. The failure is counted. The piece fails when the budget no longer allows it to
 * succeed.
 */
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

/** Milliseconds before the retry that follows the failure just counted. */
export function retryDelayMs(task: Task, workerId: string, chance: number): number {
  const { retry } = task.options
  const failures = retry.scope === 'worker' ? failuresOf(task, workerId) : task.failures
  return backoffMs(retry, Math.max(1, failures), chance)
}

/**
 * After 60 doublings a millisecond is longer than any delay. The factor of 1,024 doublings is infinite, and 0 ms times that factor
 * is `NaN`.
 */
const DOUBLINGS_MAX = 60

/**
 * Milliseconds before retry number `retryNumber` (1 is the first). `chance` (0 to 1) is the share of the jitter that is subtracted.
 */
export function backoffMs(retry: Retry, retryNumber: number, chance: number): number {
  const delay = Math.min(plainDelayMs(retry, retryNumber), ceilingMs(retry), DELAY_MS_MAX)
  return Math.round(delay * (1 - retry.jitter * chance))
}

function plainDelayMs(retry: Retry, retryNumber: number): number {
  switch (retry.backoff) {
    case 'fixed':
      return retry.delayMs
    case 'exponential':
      return retry.delayMs * 2 ** Math.min(retryNumber - 1, DOUBLINGS_MAX)
    case 'fibonacci':
      return retry.delayMs * fibonacci(retryNumber, retry.maxDelayMs)
    case 'ladder': {
      const delays = retry.delaysMs ?? [retry.delayMs]
      return delays[Math.min(retryNumber, delays.length) - 1] ?? retry.delayMs
    }
  }
}

/** The longest delay of a backoff. A ladder lists its own delays; `maxDelayMs` bounds all others. */
function ceilingMs(retry: Retry): number {
  return retry.backoff === 'ladder' ? Number.POSITIVE_INFINITY : retry.maxDelayMs
}

/** The number at a position of 1, 2, 3, 5, 8 … It stops growing at `enough`. */
function fibonacci(position: number, enough: number): number {
  let [previous, current] = [1, 1]
  for (let i = 1; i < position && current < enough; i++) [previous, current] = [current, previous + current]
  return current
}
