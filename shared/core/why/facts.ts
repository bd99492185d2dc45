import type { LostMessage } from '../dead-letters/lost-message.ts'
import type { HeldPermits } from '../limits/held-permits.ts'
import type { EndedRun } from '../task/runs.ts'
import type { Task } from '../task/task.ts'
import type { TaskType } from '../types/task-type.ts'
import type { Worker } from '../worker/worker.ts'

/** The paths of the HTTP API that a next step names. Ids and names may need another form in a path than in a sentence. */
export type WhyPaths = {
  task(id: string): string
  type(name: string): string
  canvas(id: string): string
}

/** What is known of a task when its sentence is written. The use case reads the optional parts only for reasons that need them. */
export type WhyFacts = {
  readonly task: Task
  readonly now: number
  /** The path of the task in the HTTP API, for the next step. */
  readonly path: string
  readonly paths: WhyPaths
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

/** The limit for which a task waits. */
export type WhyLimit = {
  readonly kind: 'rate' | 'concurrency'
  readonly name: string
  readonly max?: number
  readonly perMs?: number
  readonly held?: number
  /** The holders of permits, longest first. */
  readonly holders?: ReadonlyArray<{ readonly taskId: string; readonly since: number }>
}

/** The sentence about a task, what a caller can do, and the facts in it. Times are milliseconds since the epoch. */
export type Explained = {
  readonly sentence: string
  readonly next: string
  readonly since?: number
  readonly until?: number
  readonly limit?: WhyLimit
  readonly holder?: string
  readonly queue?: {
    readonly type: string
    readonly messages?: number
    readonly oldestDueAt?: number
    readonly before?: number
  }
  readonly lastWorkerSeenAt?: number
  readonly log?: string
  readonly deadLetterId?: string
}
