import { STUCK_MS } from '../bounds.ts'
import { liveRuns, type Task } from '../task/task.ts'
import type { StatusReason } from './status.ts'

/** What is known of why a due task that nobody runs waits. */
export type WaitFacts = {
  /** What it waits for, as people see it. */
  readonly reason: StatusReason | undefined
  readonly isPaused: boolean
  /** Others of its type are worked on, or wait to be: its turn will come. */
  readonly isInLine: boolean
  /** Since when all that it takes has been there: its type as it is, who serves it, and rounds that repair. */
  readonly since: number
}

/**
 * Whether nothing has been heard of a task that is due, or owes callbacks, for 15 minutes. A change of it is a sign of
 * life, also by an operator, and so is a run's heartbeat, which holds until the lease that it has renewed ends.
 */
export function isQuiet(task: Task, now: number): boolean {
  if (task.state !== 'open' && !task.owes) return false
  const { updatedAt, dueAt } = task
  const due = task.owes ? updatedAt : dueAt
  return Math.max(updatedAt, due, ...liveRuns(task).map(({ leaseUntil }) => leaseUntil)) <= now - STUCK_MS
}

/** Whether a quiet task should not be: its run is dead and was not recorded as lost, or it waits for nothing. */
export function isStuck(task: Task, patience: WaitFacts, now: number): boolean {
  if (patience.since > now - STUCK_MS) return false
  // That callbacks cannot be published is told once, as needing attention.
  if (task.unpublished) return false
  return task.owes === true || liveRuns(task).length > 0 || !mayWait(patience)
}

/** The one place that says for what a task may wait for however long. */
function mayWait({ reason, isPaused, isInLine }: WaitFacts): boolean {
  return reason !== undefined || isPaused || isInLine
}
