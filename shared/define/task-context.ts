import type { DerivedBody } from '../api/publish.ts'
import type { Json } from '../core/json.ts'
import type { WebhookSettings } from '../core/types/task-type.ts'
import type { Log } from '../ports/machine.ts'
import type { Next, NextOptions } from '../signals.ts'

/**
 * The second argument of a handler. `Stage` names the stages that the handler may move the task to, and `Input` is
 * the input type of those stages.
 */
export type TaskContext<Stage extends string = string, Input = unknown> = {
  /** `type:key`. For a step, the id of the flow's task. */
  readonly taskId: string
  /** The task's type. For a step, the flow's type. */
  readonly type: string
  /** The key of the task, unique within its type. */
  readonly key: string
  /** The id of this run. */
  readonly runId: string
  /** 1 plus the failed and lost runs so far. */
  readonly attempt: number
  /**
   * A number that grows with every claim of this key. It never goes back: not after a restart, and not when the task has
   * expired and its key is published again. The first fence need not be 1. Pass it to stores that can refuse an older fence.
   */
  readonly fence: number
  /**
   * The same text in every run of this piece of work, for calls that must take effect once. It differs after a restart, in
   * another stage or step, and for a step's undo.
   */
  readonly idempotencyKey: string
  /** The stage of the task. Undefined until the task is published into a stage or moved to one. */
  readonly stage?: string
  /** The name of the flow's current step; absent outside a flow. */
  readonly step?: string
  /** Whether the flow's step is done or undone now; absent outside a flow. */
  readonly direction?: 'do' | 'undo'
  /** The flow's input, and the result of each finished step under the step's name; absent outside a flow. */
  readonly params?: Readonly<Record<string, Json>>
  /** The value that the task before handed on; present in members of a canvas and in callbacks. */
  readonly previous?: Json
  /** The W3C trace context of this run, to be sent to the services that the handler calls. */
  readonly traceparent?: string
  /** Aborts when the run is over: cancelled, removed, lost or timed out, or when its process must stop. */
  readonly signal: AbortSignal
  /** Reports how far the run has come. The next heartbeat stores the value. */
  progress(value: Json): void
  /**
   * Moves the task to another stage when the handler returns it: `return ctx.next('store')`. The new stage has
   * a dispatch and a retry budget of its own, so other tasks may run before it does. Throws Fatal for an unknown stage.
   */
  next(stage: Stage, options?: NextOptions<Input>): Next
  /**
   * Publishes another task. The publish is idempotent if `key` is derived from this task's key. Throws BatonError
   * `refused` once `signal` is aborted, because the run no longer holds the task.
   */
  publish(publication: ChildPublication): Promise<{ id: string; created: boolean }>
  /** Writes lines to the process's log. The log of a failed run is kept in `runs[].log` as well. */
  readonly log: Log
  /** The settings of a type of kind `webhook`. */
  readonly webhook?: WebhookSettings
}

/**
 * A publish body, as `POST /v1/tasks` takes it. A `key` makes the publish idempotent. The new task inherits the user and
 * the trace of this one.
 */
export type ChildPublication = DerivedBody
