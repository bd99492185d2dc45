/**
 * Workers as the registry knows them: their ids, versions and signs of life; and for which of its workers a task still waits.
 *
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

import { WORKER_ID_BYTES_MAX } from './bounds.ts'
import type { Options } from './options.ts'
import type { WORKER_STATES } from './states.ts'
import { failuresOf } from './task/piece.ts'
import { liveRuns, successes, type Task, workersWanted } from './task/task.ts'
import { membersWhere } from './values/values.ts'

/** An item that announces a task to a worker that the task lists. It names the task's revision at which the task could be claimed. */
export type Marker = {
  readonly workerId: string
  readonly taskId: string
  readonly born: string
  readonly revision: number
}

/** A worker as it announces itself. Times are milliseconds since the epoch. */
export type Worker = {
  readonly workerId: string
  readonly kind: 'standalone' | 'http'
  readonly version?: string
  /** The types whose tasks the worker takes. */
  readonly types: readonly string[]
  /** The last sign of life for each type, for workers whose types are known only from their requests. */
  readonly typesSeen?: Readonly<Record<string, number>>
  /** How many tasks the worker runs, if it reports that. */
  readonly running?: number
  /** The first of the tasks that a standalone worker runs, by their ids. */
  readonly tasks?: readonly string[]
  /** How many of its last claims over HTTP, in a row, waited and found no work. */
  readonly emptyWaits?: number
  /** The time until which a claim of the worker over HTTP waits for work. */
  readonly waitingUntil?: number
  readonly startedAt: number
  readonly lastSeen: number
  /** Whether the worker takes no more tasks, and ends when its last runs have ended. */
  readonly draining?: boolean
  /** When the worker stopped. Missing for a worker that fell silent without stopping. */
  readonly stoppedAt?: number
}

export type WorkerState = (typeof WORKER_STATES)[number]

/**
 * How a worker is. A standalone worker says that it stops, so it is dead when it falls silent. A worker over HTTP only ceases to send
 * requests, and may have died or not: it counts as stopped.
 */
export function workerStateOf({ kind, stoppedAt, lastSeen, draining }: Worker, now: number): WorkerState {
  if (stoppedAt !== undefined) return 'stopped'
  if (lastSeen + WORKER_LIFE_MS <= now) return kind === 'http' ? 'stopped' : 'dead'
  return draining ? 'draining' : 'live'
}

/** A marker expires after this time. When its task waits longer, the sweeper writes the marker again. */
export const MARKER_LIFE_MS = 86_400_000
/** A worker that has shown no sign of life for this long counts as gone. */
export const WORKER_LIFE_MS = 30_000
/** A worker is removed from the registry this long after its last sign of life. The margin covers small clock errors. */
export const WORKER_DROP_MS = WORKER_LIFE_MS + 10_000
/** A worker that is gone is shown this long after its last sign of life. */
export const GONE_WORKER_KEPT_MS = 86_400_000

const INVOCATION_PREFIX = 'lambda-'
const REQUEST_ID_CHARACTERS = 13

/**
 * The worker id of a Lambda invocation. It is short, because heads store it. An operator finds the invocation's log lines by the
 * beginning of its request id.
 */
export function invocationWorkerId(requestId: string): string {
  return `${INVOCATION_PREFIX}${requestId.slice(0, REQUEST_ID_CHARACTERS)}`
}

/** Whether the worker is a Lambda invocation. The id of an ended invocation never claims again. */
export function isInvocation(workerId: string): boolean {
  return workerId.startsWith(INVOCATION_PREFIX)
}

/** Whether a worker's id is short enough for heads. */
export function isShortWorkerId(workerId: string): boolean {
  return new TextEncoder().encode(workerId).length <= WORKER_ID_BYTES_MAX
}

/** Whether a worker of version `version` may take a task that asks for at least `minimum` (dotted numbers: 1.4.0). */
export function versionSuffices(version: string | undefined, minimum: string | undefined): boolean {
  if (minimum === undefined) return true
  if (version === undefined) return false
  const [have, need] = [parts(version), parts(minimum)]
  for (let i = 0; i < Math.max(have.length, need.length); i++) {
    const difference = (have[i] ?? 0) - (need[i] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return true
}

function parts(version: string): number[] {
  return version.split('.').map(Number)
}

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
