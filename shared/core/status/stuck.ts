import { STUCK_MS } from '../bounds.ts'
import { liveRuns, type Task } from '../task/task.ts'
import type { StatusReason } from './status.ts'

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
