import type { LostMessage } from '../dead-letters/lost-message.ts'
import type { HeldPermits } from '../limits/held-permits.ts'
import type { EndedRun } from '../task/runs.ts'
import type { Task } from '../task/task.ts'
import type { TaskType } from '../types/task-type.ts'
import type { Worker } from '../worker/worker.ts'

/**
 * What is known of a task, beside the reason why it waits, runs or has ended. The use case reads the optional parts only for reasons
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
