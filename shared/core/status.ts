import { type Claimer, claim } from './claim.ts'
import { isComplete } from './several-successes.ts'
import { awaitedWorkers } from './targeted.ts'
import { isTargeted, liveRuns, type Task } from './task.ts'
import { workOf } from './work.ts'

/** What a task is, in one word. `compensating` belongs to flows that undo their steps. */
export type Status = 'delayed' | 'ready' | 'running' | 'compensating' | 'succeeded' | 'failed' | 'cancelled'

/** Why an open task is not running. */
export type StatusReason =
  | 'due'
  | 'retry'
  | 'paused'
  | 'rate-limit'
  | 'concurrency-limit'
  | 'target-worker'
  | 'no-handler'
  | 'no-worker'
  | 'callbacks-owed'

/** Who serves a task, as far as it must be known to say why it waits. */
export type Served = {
  /** Whether anything is deployed that serves its type. */
  readonly hasHandler: boolean
  /** Whether that is workers, which are there or not, and not Lambda. */
  readonly isServedByWorkers: boolean
  /** Workers that show signs of life: of a task that lists workers all, else those that serve its type. */
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
 * Why the task waits; undefined while it runs, once it has ended and owes nothing, and when a worker may take it any
 * moment. `no-worker`: none is there that may take it.
 */
export function statusReasonOf(task: Task, now: number, served: Served): StatusReason | undefined {
  if (task.owes && !task.canvas) return 'callbacks-owed'
  if (task.state !== 'open') return undefined
  const status = statusOfWork(task, now)
  if (status === 'delayed') return task.retrying ? 'retry' : 'due'
  if (status === 'running') return undefined
  if (served.isPaused) return 'paused'
  return limitedBy(task, now, served) ?? whoIsMissing(task, now, served)
}

function limitedBy({ wait }: Task, now: number, { isRateUsedUp }: Served): StatusReason | undefined {
  if (wait?.kind === 'permit') return 'concurrency-limit'
  const isReserved = wait?.kind === 'turn' && wait.at > now
  return isReserved || isRateUsedUp ? 'rate-limit' : undefined
}

function whoIsMissing(task: Task, now: number, served: Served): StatusReason | undefined {
  if (workOf(task).kind !== 'http' && !served.hasHandler) return 'no-handler'
  const { liveWorkers } = served
  if (isTargeted(task)) {
    const awaited = awaitedWorkers(task)
    return liveWorkers.some(({ workerId }) => awaited.includes(workerId)) ? 'target-worker' : 'no-worker'
  }
  if (!served.isServedByWorkers) return undefined
  return liveWorkers.some(worker => claim(task, worker, now).ok) ? undefined : 'no-worker'
}
