import type { DerivedBody } from '../api/publish.ts'
import type { WebhookSettings } from '../core/types/task-type.ts'
import type { Json } from '../core/values/json.ts'
import type { Log } from '../ports/machine.ts'
import type { Next, NextOptions } from '../signals.ts'
import type { AnyDefinition } from './any-definition.ts'
import type { NameOf, PublishArguments } from './publishable.ts'

/**
 * The second argument of a handler. `Stage` names the stages that the handler may move the task to, and `Input` is
 * the input type of those stages. `Previous` and `Params` are the types that the definition's schemas give.
 */
export type TaskContext<
  Stage extends string = string,
  Input = unknown,
  Previous = Json | undefined,
  Params = Readonly<Record<string, Json>> | undefined,
> = {
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
  /**
   * The flow's input, and the result of each finished step under the step's name. Undefined outside a flow. The definition's `params`
   * gives it a type.
   */
  readonly params: Params
  /**
   * The value that the task before handed on, in members of a canvas and in callbacks. Undefined elsewhere. The definition's `previous`
   * gives it a type.
   */
  readonly previous: Previous
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
   * Publishes another task, given as by `client.publish`: `publish(resize, { width: 200 }, { key: 'img-1' })`,
   * `publish<typeof resize>('resize', { width: 200 })`, or as a body. The new task inherits the user and the trace of this one. The
   * publish is idempotent if `key` is derived from this task's key.
   *
   * @throws BatonError `invalid` when the input does not fit the definition's schema, naming each wrong field; `unknown-type` for a type
   * that is not deployed; `refused` once `signal` is aborted, because the run no longer holds the task.
   */
  publish<What extends AnyDefinition | string = never>(
    what: What | NameOf<What> | ChildPublication,
    ...given: PublishArguments<What, ChildOptions>
  ): Promise<{ id: string; created: boolean }>
  /** Writes lines to the process's log. The log of a failed run is kept in `runs[].log` as well. */
  readonly log: Log
  /** The settings of a type of kind `webhook`. */
  readonly webhook?: WebhookSettings
}

/** What `ctx.publish` takes beside a definition and its input. */
type ChildOptions = Omit<DerivedBody, 'type' | 'input'>

/**
 * A publish body, as `POST /v1/tasks` takes it. A `key` makes the publish idempotent. The new task inherits the user and
 * the trace of this one.
 */
export type ChildPublication = DerivedBody

/** The context that a process gives to a definition: plain JSON, and a `publish` of bodies. The definition makes the handler's of it. */
export type RunContext = Omit<TaskContext, 'params' | 'previous' | 'publish'> & {
  readonly params?: Readonly<Record<string, Json>> | undefined
  readonly previous?: Json | undefined
  publish(publication: ChildPublication): Promise<{ id: string; created: boolean }>
}
