import type { DerivedBody } from '../api/publish.ts'
import type { Json } from '../core/json.ts'
import type { WebhookSettings } from '../core/types/task-type.ts'
import type { Log } from '../ports/machine.ts'
import type { Next, NextOptions } from '../signals.ts'

/** What a handler is given besides its input. `Stage`: the stages it may move to, `Input`: what those take. */
export type TaskContext<Stage extends string = string, Input = unknown> = {
  readonly taskId: string
  /** The task's own; of a step, the flow's. */
  readonly type: string
  readonly key: string
  readonly runId: string
  /** 1 for the first run; counts failed and lost runs. */
  readonly attempt: number
  /**
   * Grows with every claim of the key, for ever: also over restarts, and when the task has expired and its key is published
   * again. It does not begin at 1. Hand it to stores that can refuse an older one.
   */
  readonly fence: number
  /** The same for every run of this piece of work; differs after a restart, in another stage or step, and for its undo. */
  readonly idempotencyKey: string
  /** The stage the task is in; undefined until it was published into one or moved to one. */
  readonly stage?: string
  /** Of a flow: the name of the step that is worked on. */
  readonly step?: string
  /** Of a flow: whether the step is to be done or undone. */
  readonly direction?: 'do' | 'undo'
  /** Of a flow: its input, and the result of each step so far under the step's name. */
  readonly params?: Readonly<Record<string, Json>>
  /** Within a canvas, and for callbacks: what the task before handed on. */
  readonly previous?: Json
  /** W3C trace context of this run, for the services that the handler calls. */
  readonly traceparent?: string
  /** Aborts when the run is over: cancelled, removed, lost, timed out, or its process must stop. */
  readonly signal: AbortSignal
  /** Stored with the next heartbeat. */
  progress(value: Json): void
  /**
   * Moves the task to another stage, when it is returned: `return ctx.next('store')`. The task is dispatched anew, with a
   * retry budget of its own; other tasks get their turn meanwhile. Throws Fatal for a stage that the task has not.
   */
  next(stage: Stage, options?: NextOptions<Input>): Next
  /**
   * Publishes another task. Idempotent when `key` is derived from this task. Throws BatonError `refused` once the signal
   * is aborted: the run is somebody else's, or nobody's.
   */
  publish(publication: ChildPublication): Promise<{ id: string; created: boolean }>
  readonly log: Log
  /** Configuration of the task's type, where its kind has some. */
  readonly webhook?: WebhookSettings
}

/** A publish body, as `POST /v1/tasks` takes it; a key makes it idempotent. It inherits the user and the trace. */
export type ChildPublication = DerivedBody
