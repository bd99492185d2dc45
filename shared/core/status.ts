import { awaitedWorkers } from './targeted.ts'
import { isTargeted, liveRuns, type Task } from './task.ts'

/** What a task is, in one word. `compensating` belongs to flows that undo their steps. */
export type Status = 'delayed' | 'ready' | 'running' | 'compensating' | 'succeeded' | 'failed' | 'cancelled'

/** Why an open task is not running. */
export type StatusReason = 'due' | 'retry' | 'target-worker' | 'no-handler' | 'no-worker'

/** Who serves a task: whether its type has a handler, and which workers show signs of life. */
export type Served = { readonly hasHandler: boolean; isLive(workerId: string): boolean }

/** The one status of a task that is not removed. A lease that ended without being recorded changes nothing. */
export function statusOf(task: Task, now: number): Status {
  if (task.state === 'removed') throw new RangeError(`${task.id} is removed and has no status`)
  if (task.state !== 'open') return task.state
  if (liveRuns(task).length > 0) return 'running'
  return task.dueAt > now ? 'delayed' : 'ready'
}

/** Why the task waits; undefined while it runs, once it has ended, and when a worker may take it any moment. */
export function statusReasonOf(task: Task, now: number, served: Served): StatusReason | undefined {
  const status = statusOf(task, now)
  if (status === 'delayed') return task.retrying ? 'retry' : 'due'
  if (status !== 'ready') return undefined
  if (task.kind !== 'http' && !served.hasHandler) return 'no-handler'
  if (!isTargeted(task)) return undefined
  return awaitedWorkers(task).some(served.isLive) ? 'target-worker' : 'no-worker'
}
