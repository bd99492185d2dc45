/**
 * What people are told of a task: its status in one word, why it waits, and whether it waits too long (`stuck.ts`). All of it is
 * derived from the head, the present time and what serves the task; none of it is stored.
 */

import { type Claimer, claim } from '../run/claim.ts'
import { isComplete } from '../run/several-successes.ts'
import type { STATUS_REASONS } from '../states.ts'
import type { Status } from '../task/lifecycle.ts'
import { workOf } from '../task/piece.ts'
import { isTargeted, liveRuns, type Task } from '../task/task.ts'
import { awaitedWorkers } from '../worker/targeted.ts'

/** Why an open task is not running, or an ended one is not over yet. */
export type StatusReason = (typeof STATUS_REASONS)[number]

/** What serves a task, as far as it must be known to say why it waits. */
export type Served = {
  /** Whether anything is deployed that serves its type; types that are claimed over HTTP need nothing. */
  readonly hasHandler: boolean
  /**
   * What may claim it now: of a task that lists workers all workers that show signs of life, else those that serve its type.
   * A Lambda function that serves the type is one of them, and is always there.
   */
  readonly liveWorkers: readonly Claimer[]
  /** Whether its type is paused, or of a flow's step one of the two. */
  readonly isPaused: boolean
  /** Whether a rate limit allows no start now of what is taken as soon as one is allowed. */
  readonly isRateUsedUp: boolean
}

/** The one status of a task that is not removed. A lease that ended without being recorded changes nothing. */
export function statusOf(task: Task, now: number): Status {
  if (task.state === 'removed') throw new RangeError(`${task.id} is removed and has no status`)
  if (task.state !== 'open') return task.state
  if (task.flow?.direction === 'undo') return 'compensating'
  return statusOfWork(task, now)
}

/** What the present piece of an open task is at. */
function statusOfWork(task: Task, now: number): 'delayed' | 'ready' | 'running' {
  if (liveRuns(task).length > 0 || isComplete(task)) return 'running'
  return task.dueAt > now ? 'delayed' : 'ready'
}

/**
 * Why the task waits, the first of these that holds; undefined while it runs, once it has ended and owes nothing, and when
 * a worker may take it any moment.
 *
 * - `callbacks-owed`: it has ended, and what follows from its end is not published yet.
 * - `retry`: a run of it has failed, and the next one is not due. `due`: its time has not come.
 * - `paused`: its type is paused, or the type of its step.
 * - `concurrency-limit`, `rate-limit`: a limit of these types is used up.
 * - `no-handler`: nothing is deployed that serves its type.
 * - `target-worker`: a worker that it lists is there and has not taken it yet.
 * - `no-worker`: no worker is there that may take it: none serves its type, none that it lists shows a sign of life, each
 *   has an older version than it asks for, or each has done its part.
 */
export function statusReasonOf(task: Task, now: number, served: Served): StatusReason | undefined {
  if (task.owes && !task.canvas) return 'callbacks-owed'
  if (task.state !== 'open') return undefined
  const status = statusOfWork(task, now)
  if (status === 'delayed') return task.retrying ? 'retry' : 'due'
  if (status === 'running') return undefined
  if (served.isPaused) return 'paused'
  return limitedBy(task, now, served) ?? missingServer(task, now, served)
}

function limitedBy({ wait }: Task, now: number, { isRateUsedUp }: Served): StatusReason | undefined {
  if (wait?.kind === 'permit') return 'concurrency-limit'
  const isReserved = wait?.kind === 'slot' && wait.at > now
  return isReserved || isRateUsedUp ? 'rate-limit' : undefined
}

function missingServer(task: Task, now: number, served: Served): StatusReason | undefined {
  if (workOf(task).kind !== 'http' && !served.hasHandler) return 'no-handler'
  const { liveWorkers } = served
  if (isTargeted(task)) {
    const awaited = awaitedWorkers(task)
    const isThere = liveWorkers.some(one => awaited.includes(one.workerId) && mayTake(task, one, now))
    return isThere ? 'target-worker' : 'no-worker'
  }
  return liveWorkers.some(worker => mayTake(task, worker, now)) ? undefined : 'no-worker'
}

/** A claim that finds a deadline passed ends the task, which any worker may do. */
function mayTake(task: Task, worker: Claimer, now: number): boolean {
  const decided = claim(task, worker, now)
  return decided.ok || decided.reason === 'finished' || decided.change !== undefined
}
