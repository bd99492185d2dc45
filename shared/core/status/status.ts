/**
 * The status of a task, the reason why it waits, and whether it waits too long. All of it is derived from the head,
 * the present time and the handlers and workers that serve the task. None of it is stored.
 */

import { STUCK_MS } from '../bounds.ts'
import { type Claimer, claim } from '../run/claim.ts'
import { isComplete } from '../run/several-successes.ts'
import type { STATUS_REASONS } from '../states.ts'
import type { Status } from '../task/lifecycle.ts'
import { workOf } from '../task/piece.ts'
import { isTargeted, liveRuns, type Task } from '../task/task.ts'
import { awaitedWorkers } from '../worker/own-retries.ts'

/** Why an open task is not running, or why an ended task still owes callbacks. */
export type StatusReason = (typeof STATUS_REASONS)[number]

/** The reasons that name a limit. */
export type LimitReason = Extract<StatusReason, 'rate-limit' | 'concurrency-limit'>

/** The handlers, workers and limits of a task's type, as far as the reason for its wait depends on them. */
export type Served = {
  /** Whether a deployed handler serves the type. Types whose tasks are claimed over HTTP need none. */
  readonly hasHandler: boolean
  /**
   * For a task that lists workers, all live workers; for any other task, the live workers that serve its type. A Lambda function
   * that serves the type is one of them, and is always live.
   */
  readonly liveWorkers: readonly Claimer[]
  /** Whether the type is paused. For a step of a flow: whether the type of the flow or of the step is paused. */
  readonly isPaused: boolean
  /** The limit that allows no start of the task now, whether or not its head records that it waits. */
  readonly limitedBy?: LimitReason | undefined
}

/** The status of a task that is not removed. A run whose lease has ended counts as running until its loss is recorded. */
export function statusOf(task: Task, now: number): Status {
  if (task.state === 'removed') throw new RangeError(`${task.id} is removed and has no status`)
  if (task.state !== 'open') return task.state
  if (task.flow?.direction === 'undo') return 'compensating'
  return statusOfWork(task, now)
}

/** The status of the present piece of an open task. */
function statusOfWork(task: Task, now: number): 'delayed' | 'ready' | 'running' {
  if (liveRuns(task).length > 0 || isComplete(task)) return 'running'
  return task.dueAt > now ? 'delayed' : 'ready'
}

/**
 * The reason why the task waits: the first of these that holds. Undefined while the task runs, when it has ended and owes nothing,
 * and when a worker may take it at any moment.
 *
 * - `callbacks-owed`: the task has ended, and its callbacks are not published yet.
 * - `retry`: a run has failed, and the next one is not due. `due`: the task is not due.
 * - `paused`: its type is paused, or the type of its step.
 * - `concurrency-limit`, `rate-limit`: a limit of these types is used up.
 * - `no-handler`: no deployed handler serves its type.
 * - `target-worker`: a worker that the task lists is live and has not taken it yet.
 * - `retry`, too: other workers could take the task, but each live one that may take it waits for its own retry.
 * - `no-worker`: no live worker may take the task. None serves its type, none of the listed ones is live, each has an older version
 *   than the task asks for, or each has done its part.
 */
export function statusReasonOf(task: Task, now: number, served: Served): StatusReason | undefined {
  if (task.owes) return 'callbacks-owed'
  if (task.state !== 'open') return undefined
  const status = statusOfWork(task, now)
  if (status === 'delayed') return task.retrying ? 'retry' : 'due'
  if (status === 'running') return undefined
  if (served.isPaused) return 'paused'
  return limitedBy(task, served) ?? missingServer(task, now, served)
}

function limitedBy({ wait }: Task, served: Served): LimitReason | undefined {
  if (wait) return wait.kind === 'permit' ? 'concurrency-limit' : 'rate-limit'
  return served.limitedBy
}

function missingServer(task: Task, now: number, served: Served): StatusReason | undefined {
  if (workOf(task).kind !== 'http' && !served.hasHandler) return 'no-handler'
  const awaited = awaitedWorkers(task)
  const isAwaited = ({ workerId }: Claimer) => !isTargeted(task) || awaited.includes(workerId)
  const workers = served.liveWorkers.filter(isAwaited)
  if (workers.some(worker => mayTake(task, worker, now)))
    return isTargeted(task) ? 'target-worker' : undefined
  return workers.some(worker => mayTakeLater(task, worker, now)) ? 'retry' : 'no-worker'
}

/** Whether the worker may claim the task. A claim that finds a passed deadline writes the end of the task, and any worker may do that. */
function mayTake(task: Task, worker: Claimer, now: number): boolean {
  const decided = claim(task, worker, now)
  return decided.ok || decided.change !== undefined
}

/** Whether only the worker's own retry delays its claim. */
function mayTakeLater(task: Task, worker: Claimer, now: number): boolean {
  const decided = claim(task, worker, now)
  return !decided.ok && decided.reason === 'waits-for-own-retry'
}

/** Facts about the wait of a due task without a run, by which the sweeper decides whether it is stuck. */
export type WaitFacts = {
  /** The reason for the wait, as callers see it. */
  readonly reason: StatusReason | undefined
  readonly isPaused: boolean
  /** Whether other tasks of its type run or wait to run. Then the task waits behind them. */
  readonly isBehindOthers: boolean
  /** The time since which all that a run needs exists: the type's configuration, a worker or handler, and sweeps that repair. */
  readonly since: number
}

/**
 * Whether a task that is due, or owes callbacks, has shown no sign of life for 15 minutes. Any change of the task is a sign of
 * life, also a change by an operator. A heartbeat counts as one until the end of the lease that it extended.
 */
export function isQuiet(task: Task, now: number): boolean {
  if (task.state !== 'open' && !task.owes) return false
  const { updatedAt, dueAt } = task
  const due = task.owes ? updatedAt : dueAt
  return Math.max(updatedAt, due, ...liveRuns(task).map(({ leaseUntil }) => leaseUntil)) <= now - STUCK_MS
}

/** Whether a quiet task is stuck: its run is dead and was not recorded as lost, or the task waits without a reason. */
export function isStuck(task: Task, facts: WaitFacts, now: number): boolean {
  if (facts.since > now - STUCK_MS) return false
  // Callbacks that cannot be published are reported once, as needing attention.
  if (task.unpublished) return false
  return task.owes === true || liveRuns(task).length > 0 || !mayWait(facts)
}

/** Whether a task may wait for any length of time. No other place decides this. */
function mayWait({ reason, isPaused, isBehindOthers }: WaitFacts): boolean {
  return reason !== undefined || isPaused || isBehindOthers
}
