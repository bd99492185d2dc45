/**
 * Why a task waits, runs, or has ended as it has: one reason for every task. `shared/service/why` writes a sentence for each reason.
 *
 * Where `statusReasonOf` gives a reason, this file keeps it, or names its case more exactly (`refined`). Where it gives none, the task
 * runs, has ended, or is ready. For a ready task the use case reads its queue first (`ReadyFacts`), and `readyReason` decides between them.
 */

import type { LostMessage } from '../dead-letters/lost-message.ts'
import type { HeldPermits } from '../limits/limits.ts'
import { isComplete } from '../run/several-successes.ts'
import type { WHY_REASONS } from '../states.ts'
import { workOf } from '../task/piece.ts'
import { type EndedRun, endedRuns, isTargeted, liveRuns, type Task } from '../task/task.ts'
import type { TaskType } from '../types/task-type.ts'
import { awaitedWorkers } from '../worker/own-retries.ts'
import { versionSuffices, type Worker } from '../worker/worker.ts'
import { isQuiet, isStuck, type Served, type StatusReason, statusReasonOf } from './status.ts'

type WhyReason = (typeof WHY_REASONS)[number]
/** The reasons of tasks that have a head. `canvas` and `skipped` are about members of a canvas that are not published. */
export type TaskReason = Exclude<WhyReason, 'canvas' | 'skipped'>

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

/** Which of the causes of `no-worker` holds. */
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
