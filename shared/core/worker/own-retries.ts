/**
 * The retries of single workers. Under retry scope `worker`, a failure says something about its worker alone. So where several workers
 * may take a task, the failed one waits for its own time, which `retryAtBy` keeps, and any other worker may claim the task at once.
 *
 * - A task that lists its workers is delayed when each worker that it awaits has such a time. `dueAt` is then the first of these times,
 *   and `retrying` is set. So the places, the plan and the status follow from `dueAt`, as for every other task.
 * - A task without a list stays due, because a worker that never failed may take it. At each worker's time a look announces the task
 *   again.
 * - Each transition drops the times that have passed. The look at a time makes such a transition.
 * - The id of a Lambda invocation never claims again. A delay that held for it alone would hold for no run, so the delay of an
 *   invocation holds for the whole task. Workers with times of their own no longer serve a type that invocations serve.
 */

import type { Options } from '../options/options.ts'
import { failuresOf } from '../task/piece.ts'
import { liveRuns, successes, type Task, workersWanted } from '../task/task.ts'
import { membersWhere } from '../values/records.ts'
import { isInvocation } from './worker.ts'

/** The draft of a task whose failed worker may try again at `at`. The failure is counted already. */
export function withRetryAt(draft: Task, workerId: string, at: number): Task {
  if (!delaysWorkerAlone(draft.options) || isInvocation(workerId)) {
    return { ...draft, dueAt: at, retrying: true, retryAtBy: {} }
  }
  if (!hasBudget(draft, workerId)) return draft
  // A head has room for only so many workers, and `failuresBy` is bounded already.
  const counted = membersWhere(draft.retryAtBy, (_, id) => Object.hasOwn(draft.failuresBy, id))
  return { ...draft, retryAtBy: { ...counted, [workerId]: at } }
}

/** Whether a failure delays its worker alone: several workers may take the task, and each has its own retries. */
export function delaysWorkerAlone({ retry, concurrency, workerIds }: Options): boolean {
  return retry.scope === 'worker' && (concurrency > 1 || workerIds.length > 0)
}

/** Whether the worker itself must wait for its retry, although the task may be due. */
export function waitsForOwnRetry(task: Task, workerId: string, now: number): boolean {
  return ownRetryAt(task, workerId) > now
}

/** When the worker's own retry is due; 0 without one. A worker may be called `constructor`, so the lookup takes own members only. */
function ownRetryAt({ retryAtBy }: Task, workerId: string): number {
  return Object.hasOwn(retryAtBy, workerId) ? (retryAtBy[workerId] ?? 0) : 0
}

/** The time of the next worker's own retry, which a look announces. Undefined while the task takes no worker, or is in a line. */
export function nextOwnRetryAt(task: Task): number | undefined {
  const times = Object.values(task.retryAtBy)
  if (times.length === 0 || task.wait || workersWanted(task) <= 0) return undefined
  return Math.max(task.dueAt, Math.min(...times))
}

/** The draft with the times that lie ahead, and with the due time that follows from them. */
export function withOwnRetriesJudged(draft: Task, now: number): Task {
  if (Object.keys(draft.retryAtBy).length === 0) return draft
  const task = { ...draft, retryAtBy: membersWhere(draft.retryAtBy, at => at > now) }
  const awaited = awaitedWorkers(task).map(id => ownRetryAt(task, id))
  const first = awaited.length > 0 ? Math.min(...awaited) : 0
  // The due time of an earlier retry no longer holds when another worker may claim before it.
  const dueAt = task.retrying ? Math.min(task.dueAt, now) : task.dueAt
  return { ...task, dueAt: Math.max(dueAt, first), retrying: first > dueAt }
}

/** The listed workers that may still take the task, whether it is due or not. None when the task wants no more workers now. */
export function awaitedWorkers(task: Task): readonly string[] {
  if (task.state !== 'open' || workersWanted(task) <= 0) return []
  const took = new Set([...liveRuns(task), ...successes(task)].map(run => run.workerId))
  return task.options.workerIds.filter(id => !took.has(id) && hasBudget(task, id))
}

/**
 * Whether the retry budget allows the worker another run. With scope `worker` each worker has a budget of its own. With scope
 * `task` the answer is always yes, because the task ends when its budget is spent.
 */
export function hasBudget(task: Task, workerId: string): boolean {
  const { retry } = task.options
  return retry.scope === 'task' || failuresOf(task, workerId) <= retry.maxRetries
}
