import type { Outcome } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import type { Act, Step } from '../scenario.ts'

/** What happened in a simulated run, as far as anybody may be held to it. `at` is the world's own time. */
export type HistoryEvent = {
  readonly at: number
  readonly by: string
} /** A head was written. `clock` is what the writer's clock showed. */ & (
  | {
      readonly what: 'write'
      readonly before: Task | undefined
      readonly after: Task
      readonly clock: number
    }
  /** Somebody outside was answered. */
  | { readonly what: 'answer'; readonly step: Step; readonly answer: Answer }
  /** A worker over HTTP was told whether its word on a run counts, and if not, why. */
  | {
      readonly what: 'report-answer'
      readonly id: string
      readonly born: string
      readonly fence: number
      /** A heartbeat says nothing of an end. */
      readonly reported: Outcome | 'beat'
      readonly refused?: string
      /** Whatever the worker has said of the run's end so far, answered or not, is this very word. */
      readonly isOnlyReport: boolean
    }
  /** A handler began, and what it was given. */
  | {
      readonly what: 'began'
      readonly id: string
      readonly fence: number
      readonly workerId: string
      readonly input: unknown
      /** What else it was given. */
      readonly previous?: unknown
      readonly params?: unknown
      /** The stage it is for, or the step as `one` or `undo one`. */
      readonly piece?: string | undefined
      readonly idempotencyKey: string
    }
  /** A process took a dispatch off a queue; `task` is what that carries. */
  | { readonly what: 'delivered'; readonly task: Task }
  /** A handler has said how its run ends, and its worker is about to write that. */
  | { readonly what: 'ended'; readonly id: string; readonly fence: number; readonly end: Act['end'] }
  /** A dispatch was sent, for a task as it was at a revision. */
  | { readonly what: 'dispatched'; readonly id: string; readonly born: string; readonly revision: number }
  /** The waker took a look at a task off its queue. */
  | { readonly what: 'look-received'; readonly id: string; readonly born: string }
  /** The store refused a request for what it is, as DynamoDB would. */
  | { readonly what: 'refused'; readonly why: string }
  /** A type was written. */
  | { readonly what: 'type'; readonly type: TaskType }
  /** A permit of a limit was recorded for a run that is to begin, or taken off the record. */
  | { readonly what: 'permit'; readonly limit: string; readonly holder: string; readonly isHeld: boolean }
  /** An invocation failed by an error that is no outage. */
  | { readonly what: 'unexpected-error'; readonly error: unknown }
  /** The table deleted a head that had expired. */
  | { readonly what: 'expired'; readonly id: string }
  /** A message was sent to a queue. */
  | { readonly what: 'sent'; readonly queue: string }
  /** A message went through a queue, a process came or went, a call failed: for the reader of a trace alone. */
  | { readonly what: 'note'; readonly text: string }
)

/** What an operation from outside came to. */
export type Answer =
  | { readonly ok: true; readonly task?: Task; readonly created?: boolean }
  | { readonly ok: false; readonly reason: string }

export type History = {
  record(event: HistoryEvent): void
  /** For traces; the text is made only if somebody reads it. */
  note(at: number, by: string, text: () => string): void
}
