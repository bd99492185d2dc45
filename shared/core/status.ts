/**
 * The status of a task, the reason why it waits, and whether it waits too long. All of it is derived from the head,
 * the present time and the handlers and workers that serve the task. None of it is stored.
 *
 * `statusOf` and `statusReasonOf` are what every answer shows. `whyReasonOf` gives one reason for every task: why it waits, runs, or has
 * ended as it has. `shared/service/why` writes a sentence for each reason. Where `statusReasonOf` gives a reason, `whyReasonOf` keeps it, or
 * names its case more exactly (`refined`). Where it gives none, the task runs, has ended, or is ready. For a ready task the use case
 * reads its queue first (`ReadyFacts`), and `readyReason` decides between them.
 */

import { STUCK_MS } from './bounds.ts'
import type { LostMessage } from './dead-letters.ts'
import type { HeldPermits } from './limits/limits.ts'
import { type Claimer, claim } from './run/claim.ts'
import { isComplete } from './run/finish.ts'
import type { STATUS_REASONS, WHY_REASONS } from './states.ts'
import type { Status } from './task/lifecycle.ts'
import { workOf } from './task/piece.ts'
import { type EndedRun, endedRuns, isTargeted, liveRuns, type Task } from './task/task.ts'
import type { TaskType } from './types/task-type.ts'
import { awaitedWorkers, versionSuffices, type Worker } from './worker.ts'

/** Why an open task is not running, or why an ended task still owes callbacks. */
export type StatusReason = (typeof STATUS_REASONS)[number]

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
  /** Whether deployment does not allow the work that the head names. */
  readonly isNotAllowed?: boolean
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
 * - `type-not-allowed`: it is a flow whose type may not have a step of the present step's type, or a webhook whose type is none.
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
  if (served.isNotAllowed) return 'type-not-allowed'
  if (served.isPaused) return 'paused'
  return limitedBy(task, served) ?? missingServer(task, now, served)
}

function limitedBy({ wait }: Task, served: Served): LimitReason | undefined {
  return wait ? limitReasonOf(wait) : served.limitedBy
}

/** Why a task waits that waits for a permit or a slot. */
export function limitReasonOf({ kind }: NonNullable<Task['wait']>): LimitReason {
  return kind === 'permit' ? 'concurrency-limit' : 'rate-limit'
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
/** The reasons of tasks that have a head. `canvas` and `skipped` are about members of a canvas that are not published. */
export type TaskReason = Exclude<(typeof WHY_REASONS)[number], 'canvas' | 'skipped'>

/** What decides the reason of a task that is ready although no `statusReason` holds. */
type ReadyFacts = {
  /** About how many messages wait in its queue. One of them may be its own. */
  readonly messages: number
  /** How many tasks come before it in its place. */
  readonly before: number
  /** Whether it is claimed over HTTP, has been quiet, and other tasks of its type run. Then it waits for one of their workers. */
  readonly isTypeAtWork: boolean
  /** The time since which all that a run needs exists. See `WaitFacts`. */
  readonly since: number
}

/**
 * The reason that follows from the head, from the types and from the live workers. Undefined for a ready task that nothing delays:
 * `readyReason` then judges what the use case has read of its queue.
 */
export function whyReasonOf(
  task: Task,
  now: number,
  served: Served,
  isOwnTypePaused: boolean,
): TaskReason | undefined {
  const reason = statusReasonOf(task, now, served)
  if (reason !== undefined) return refined(reason, task, served, isOwnTypePaused)
  if (task.state === 'removed') throw new RangeError(`${task.id} is removed and waits for nothing`)
  if (task.state !== 'open') return endedReason(task)
  if (liveRuns(task).length > 0 || isComplete(task)) return isQuiet(task, now) ? 'stuck' : 'running'
  return undefined
}

/**
 * The reason of a task that is ready and that no `statusReason` delays. A run that was lost a moment ago is the best hint, also in a
 * queue: a handler that crashes is often why the queue grows. After 15 minutes without a sign of life it explains the wait no more.
 */
export function readyReason(task: Task, now: number, facts: ReadyFacts): TaskReason {
  const { messages, before, isTypeAtWork, since } = facts
  const isBehindAny = isTypeAtWork || messages + before > 0
  const wait = { reason: undefined, isPaused: false, isBehindOthers: isBehindAny, since }
  const isQuietNow = isQuiet(task, now)
  if (isQuietNow && isStuck(task, wait, now)) return 'stuck'
  const isBehindOthers = hasOthersAhead(facts)
  const wasLost = lastRunOf(task)?.state === 'lost'
  if (wasLost && !(isQuietNow && isBehindOthers)) return 'crashing'
  return isBehindOthers ? 'backlog' : 'dispatched'
}

/** Whether others come before a task. One message may be its own. */
export function hasOthersAhead({ messages, before }: Pick<ReadyFacts, 'messages' | 'before'>): boolean {
  return messages > 1 || before > 0
}

/** The newest ended run of the present piece; undefined before its first run has ended. */
export function lastRunOf(task: Task): EndedRun | undefined {
  const runs = endedRuns(task).filter(run => !run.past)
  return runs.sort((a, b) => a.fence - b.fence).at(-1)
}

function refined(reason: StatusReason, task: Task, served: Served, isOwnTypePaused: boolean): TaskReason {
  switch (reason) {
    case 'retry':
      return lastRunOf(task)?.state === 'lost' ? 'crashing' : 'retry'
    case 'paused':
      return isOwnTypePaused || workOf(task).type === task.type ? 'paused' : 'step-paused'
    case 'no-worker':
      return whyNoWorker(task, served)
    default:
      return reason
  }
}

function whyNoWorker(task: Task, { liveWorkers }: Served): TaskReason {
  const { minWorkerVersion } = task.options
  const isFitting = ({ version }: { readonly version?: string }) => versionSuffices(version, minWorkerVersion)
  if (isTargeted(task)) {
    const awaited = awaitedWorkers(task)
    const listedLive = liveWorkers.filter(({ workerId }) => awaited.includes(workerId))
    return listedLive.length > 0 && !listedLive.some(isFitting) ? 'worker-version' : 'target-offline'
  }
  if (liveWorkers.length === 0) return 'no-worker'
  return liveWorkers.some(isFitting) ? 'workers-spent' : 'worker-version'
}

function endedReason({ state, flow }: Task): TaskReason {
  const isHalted = Object.values(flow?.steps ?? {}).some(step => step.state === 'undo-failed')
  return state === 'failed' && isHalted ? 'undo-failed' : (state as 'succeeded' | 'failed' | 'cancelled')
}

/**
 * What is known of a task, besides the reason why it waits, runs or has ended. The use case reads the optional parts only for reasons
 * that need them.
 */
export type WhyFacts = {
  readonly task: Task
  readonly now: number
  /** The task's type, and the type of a flow's present step. */
  readonly types: ReadonlyMap<string, TaskType>
  readonly liveWorkers: readonly Worker[]
  readonly permits?: HeldPermits
  /** The name of the limit that holds it back. */
  readonly limit?: string
  /** The next start that the rate limit allows. */
  readonly nextStartAt?: number
  /** About how many messages wait in the queue of its type. */
  readonly messages?: number
  /** The due time of the open task of its type that was due first. */
  readonly oldestDueAt?: number
  /** How many tasks come before it in the order of claims, counted up to 100. */
  readonly before?: number
  /** The record of its last run without success, with its whole error and its log. */
  readonly lastRun?: EndedRun
  /** The note that the message for which it waits was given up. */
  readonly lostMessage?: LostMessage
}

/** What is known of a member of a canvas that is not published. The counts are of the canvas's other members. */
export type MemberFacts = {
  readonly id: string
  readonly canvasId: string
  readonly members: number
  /** How many members have ended; undefined when the canvas has too many to count them for one answer. */
  readonly ended?: number
  readonly state: 'pending' | 'skipped' | 'cancelled' | 'about-to-start'
}
