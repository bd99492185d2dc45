import type { BatonEvent } from '../../../shared/core/events/events.ts'
import type { LimitLook } from '../../../shared/core/limits/line.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import type { FieldProblem } from '../../../shared/core/values/values.ts'
import type { BoundRequest } from '../bounds/bound-request.ts'
import type { OddErrorName } from '../odd-errors.ts'
import type { OddResultName } from '../odd-results.ts'
import type { Act, Step } from '../scenario.ts'
import type { DamageName } from './damage.ts'
import type { SeenHead } from './seen-head.ts'

/**
 * The events of a simulated run, as far as invariants judge them. `at` is the time of the timeline, without any
 * clock's error.
 */
export type HistoryEvent = {
  readonly at: number
  /** The process or service that caused the event. */
  readonly by: string
} /** A head was written. `clock` is the time that the writer's clock showed. */ & (
  | {
      readonly what: 'write'
      readonly before: SeenHead | undefined
      readonly after: SeenHead
      readonly clock: number
      /** The system's own table of the lifecycle lacks this transition. */
      readonly isNotInLifecycle?: true
    }
  /** A caller was answered. */
  | { readonly what: 'answer'; readonly step: Step; readonly answer: Answer }
  /** An HTTP worker was answered whether its report or heartbeat is accepted, and if not, why. */
  | {
      readonly what: 'report-answer'
      readonly id: string
      readonly born: string
      readonly fence: number
      /** What the worker reported; `beat` for a heartbeat. */
      readonly reported: Outcome | 'beat'
      readonly refused?: string
      /** Whether every report of this run so far, answered or not, was equal to this one. */
      readonly isOnlyReport: boolean
    }
  /** A handler began, with everything that it was given. */
  | {
      readonly what: 'began'
      readonly id: string
      readonly fence: number
      readonly workerId: string
      readonly input: unknown
      /** What was handed on to the task. */
      readonly previous?: unknown
      readonly params?: unknown
      /** The stage of the run, or its step as `one` (do) or `undo one`. */
      readonly piece?: string | undefined
      readonly idempotencyKey: string
    }
  /** A process received a dispatch from a queue. `task` is the task in the message. */
  | { readonly what: 'delivered'; readonly task: Task }
  /** A handler has ended, and its worker is about to report that end. */
  | {
      readonly what: 'ended'
      readonly id: string
      readonly fence: number
      readonly end: Act['end']
      /** The delay that the handler has set for the retry. */
      readonly retryInMs?: number
      /** What the handler threw, if that is no plain error. */
      readonly odd?: OddErrorName
      /** What the handler returned, if that is no plain object. */
      readonly gives?: OddResultName
    }
  /** A dispatch was sent for a revision of a task. */
  | { readonly what: 'dispatched'; readonly id: string; readonly born: string; readonly revision: number }
  /** The waker received a look at a task from its queue. */
  | { readonly what: 'look-received'; readonly id: string; readonly born: string }
  /** The store refused a request because of its content, as DynamoDB would. */
  | { readonly what: 'refused'; readonly why: string }
  /** A request reached the table: its verb, and the items or the place that it names. Recorded only where costs are judged. */
  | { readonly what: 'request'; readonly request: string }
  /** The waker received a look at a line. */
  | { readonly what: 'line-look'; readonly look: LimitLook }
  /** A type was written. */
  | { readonly what: 'type'; readonly type: TaskType }
  /** A permit of a concurrency limit was recorded for a holder, or released. */
  | { readonly what: 'permit'; readonly limit: string; readonly holder: string; readonly isHeld: boolean }
  /** An invocation failed by an error that is not an outage. */
  | { readonly what: 'unexpected-error'; readonly error: unknown }
  /** The body of a task was stored apart from its head, renewed, or deleted. `expiresAt` is undefined for a deleted one. */
  | {
      readonly what: 'body'
      readonly id: string
      readonly ref: string
      readonly expiresAt: number | undefined
    }
  /** An HTTP worker was answered with the tasks that it claimed. `bytes` is the size of the answer as Lambda delivers it. */
  | { readonly what: 'claimed'; readonly tasks: number; readonly bytes: number }
  /** Another program has damaged a head. */
  | { readonly what: 'damaged'; readonly id: string; readonly how: DamageName }
  /** A damaged head was written, and is still damaged. */
  | { readonly what: 'touched'; readonly id: string }
  /** A damaged head was replaced by a tombstone. */
  | { readonly what: 'buried'; readonly id: string; readonly after: SeenHead }
  /** A process has logged that it leaves out a head that it cannot read. */
  | { readonly what: 'left-out'; readonly id: string }
  /** The table deleted an expired head. */
  | { readonly what: 'expired'; readonly id: string }
  /** A reader was answered. `from` is the time of the question. */
  | ({ readonly what: 'read'; readonly from: number } & Question & ReadAnswer)
  /** The API has checked a request. */
  | {
      readonly what: 'checked'
      readonly request: BoundRequest
      readonly problems: readonly FieldProblem[]
      /** Whether the JSON Schema that the API publishes accepts the request. */
      readonly fitsSchema?: boolean
    }
  /** The event bus has taken these events. */
  | { readonly what: 'events'; readonly events: readonly BatonEvent[] }
  /** Every task is at rest, and the planner has read all changes and published their events. */
  | { readonly what: 'at-rest' }
  /** The planner will never read a batch of the stream. */
  | { readonly what: 'changes-lost' }
  /** The sweeper has counted so many tasks of a type as stuck. */
  | { readonly what: 'stuck'; readonly type: string; readonly tasks: number }
  /** A message was sent to a queue. */
  | { readonly what: 'sent'; readonly queue: string }
  /** A minute has passed. Invariants about time need it, because for hours nothing else may happen. */
  | { readonly what: 'minute' }
  /** For readers of traces alone: what a queue, a process or a call did. */
  | { readonly what: 'note'; readonly text: string }
)

/** The answer to an operation of a caller. */
export type Answer =
  /** `seen`: the revision that the caller expected. */
  | { readonly ok: true; readonly task?: Head; readonly created?: boolean; readonly seen?: number }
  | { readonly ok: false; readonly reason: string }

/** A question of a reader: an operation of the API, and its parameters. */
export type Question = {
  readonly operation: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
}

/** An answer of the API. `misfit` says where it does not fit the published schema of the operation. */
export type ReadAnswer = { readonly status: number; readonly body: unknown; readonly misfit?: string }

export type History = {
  record(event: HistoryEvent): void
  /** Records a line for traces. The text is made only when a trace is written. */
  note(at: number, by: string, text: () => string): void
}
