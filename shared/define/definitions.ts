import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { DerivedBody } from '../api/publish.ts'
import type { TypeConfiguration, WebhookSettings } from '../core/types/task-type.ts'
import { illegal, type Json } from '../core/values/values.ts'
import type { Log } from '../ports/machine.ts'
import type { Next, NextOptions, Release } from '../signals.ts'
import type { Arguments, Signature, WithArguments } from './signature.ts'

/** The types of definitions, and of what handlers get: they name each other, so one file has them all. */

/**
 * A task type with its defaults and its handler, as `defineTask` returns it. `Input` is the type of a published input,
 * `Output` the type of the handler's result, `Parsed` the type that the handler gets from the schema. `Name` is the name of the type,
 * and `Params` are the parameters that it needs of a flow.
 */
export type TaskDefinition<
  Input = unknown,
  Output = unknown,
  Parsed = unknown,
  Name extends string = string,
  Params = unknown,
> = {
  /** Distinguishes the definition of a task from the definition of a flow. */
  readonly kind: 'baton-task'
  /** The name of the task type. */
  readonly type: Name
  /** The type's configuration, as `PUT /v1/types/{type}` takes it. */
  readonly config: TypeConfiguration
  /** The schema that parses the input before the handler runs. */
  readonly input?: StandardSchemaV1<Input, Parsed>
  /** The schema that parses `ctx.params` before the handler runs. */
  readonly params?: StandardSchemaV1<Params, unknown>
  /** Paths of the input's fields that are hidden in logs and errors. */
  readonly redact?: readonly string[]
  /** The names of the stages, in their order; absent for a task without stages. */
  readonly stages?: readonly string[]
  /** The handler. With stages, it runs the stage that `context.stage` names. */
  run(input: Parsed, context: RunContext): Returned<Output>
  /** Returns a task of this type with this input: a member for a canvas, or a body for `publish`. */
  with(...given: WithArguments<Input>): Signature<AsJson<Output>>
}

/** What a handler may return, at once or later. */
export type Returned<Output> = Promise<Output | Release | Next> | Output | Release | Next

/** A task type whose tasks run as a list of steps, as `defineFlow` returns it. Each step is done by a task type. */
export type Flow<Input = unknown, Output = unknown, Name extends string = string> = {
  /** Distinguishes the definition of a flow from the definition of a task. */
  readonly kind: 'baton-flow'
  /** The name of the flow's type. */
  readonly type: Name
  /** The type's configuration, as `PUT /v1/types/{type}` takes it. */
  readonly config: TypeConfiguration
  /** The input's schema. Only the compiler uses it: the task of each step parses its own input. */
  readonly input?: StandardSchemaV1<Input, unknown>
  /** The definitions of the tasks that do and undo the steps, each once. */
  readonly tasks: readonly TaskDefinition[]
  /** Returns a task of this flow with this input: a member for a canvas, or a body for `publish`. */
  with(...given: WithArguments<Input>): Signature<AsJson<Output>>
}

// biome-ignore lint/suspicious/noExplicitAny: a task of any input may be named
export type AnyTask = TaskDefinition<any, any, any, string, any>

/** Any task or flow definition. A publisher can import only its type (`import type`), and then bundles no handler. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyDefinition = AnyTask | Flow<any, any, string>

/** The type of the input that publishers give. */
export type InputOf<Definition extends { readonly input?: unknown }> =
  NonNullable<Definition['input']> extends StandardSchemaV1<infer Input, unknown> ? Input : unknown

/** The type of the result of the definition's tasks, as JSON gives it back. */
export type OutputOf<Definition> = Definition extends { readonly kind: 'baton-task' | 'baton-flow' }
  ? Definition extends { run(...given: never): unknown }
    ? Definition extends TaskDefinition<infer _Input, infer Output, infer _Parsed, infer _Name, infer _Params>
      ? AsJson<Output>
      : unknown
    : Definition extends Flow<infer _FlowInput, infer FlowOutput, infer _FlowName>
      ? AsJson<FlowOutput>
      : unknown
  : unknown

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

/** What `ctx.publish` takes besides a definition and its input. */
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

/** The name of a definition's type, for callers that have only the type of the definition: `publish<typeof resize>('resize', …)`. */
export type NameOf<What> = What extends { readonly kind: string; readonly type: infer Name } ? Name : never

/**
 * The arguments after `What`: the input and the options of a task, or none after a body. For a body the compiler finds no definition,
 * so that `What` is `never` or all that `What` may be.
 */
export type PublishArguments<What, Options> = [What] extends [never]
  ? []
  : string extends What
    ? AnyDefinition extends What
      ? []
      : [input?: unknown, options?: Options]
    : What extends AnyDefinition
      ? Arguments<InputOf<What>, InputOf<What>, Options>
      : What extends string
        ? [input?: unknown, options?: Options]
        : []

/**
 * The type of a value after it was stored as JSON, as every reader of a result gets it: a `Date` is text, a member that may be
 * undefined may be missing, and whatever defines `toJSON` is what that returns. A value that cannot be stored is `never`: a bigint,
 * a symbol, a function, a `Map`, a `Set`, bytes. A run that returns one fails. `any` and `unknown` stay what they are.
 */
type AsJson<Value> = unknown extends Value
  ? Value
  : [Value] extends [Json]
    ? Value
    : Value extends void
      ? undefined
      : Value extends Scalar
        ? Value
        : Value extends { toJSON(): infer Written }
          ? AsJson<Written>
          : Value extends Unstorable
            ? never
            : Value extends readonly unknown[]
              ? { [Index in keyof Value]: AsJson<Value[Index]> }
              : MembersAsJson<Value>

type Scalar = string | number | boolean | null

type Unstorable =
  | bigint
  | symbol
  | ((...given: never) => unknown)
  // biome-ignore lint/suspicious/noExplicitAny: a map or a set of anything
  | ReadonlyMap<any, any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  | ReadonlySet<any>
  | ArrayBuffer
  | ArrayBufferView

type MembersAsJson<Value> = Flat<
  { [Name in keyof Value as Kept<Value, Name, 'always'>]: AsJson<Value[Name]> } & {
    [Name in keyof Value as Kept<Value, Name, 'sometimes'>]?: AsJson<Exclude<Value[Name], undefined>>
  }
>

/** The name, if the member is stored always or sometimes. Members under symbols are never stored. */
type Kept<Value, Name extends keyof Value, When extends 'always' | 'sometimes'> = Name extends symbol
  ? never
  : When extends (IsSometimesUndefined<Value[Name]> extends true ? 'sometimes' : 'always')
    ? Name
    : never

type IsSometimesUndefined<Member> = unknown extends Member ? false : undefined extends Member ? true : false

type Flat<Members> = { [Name in keyof Members]: Members[Name] } & {}

/**
 * Returns the tasks in `definitions` and the tasks of the flows' steps, each definition once.
 *
 * @throws BatonError `invalid` when two different definitions have the same type: a worker could serve only one of them.
 */
export function distinctTasks(definitions: ReadonlyArray<TaskDefinition | Flow>): TaskDefinition[] {
  const tasks = new Set(definitions.flatMap(one => (one.kind === 'baton-flow' ? one.tasks : [one])))
  const byType = new Map<string, TaskDefinition>()
  for (const task of tasks) {
    if (byType.has(task.type)) {
      throw illegal(`two definitions of the type '${task.type}'; give each type once`)
    }
    byType.set(task.type, task)
  }
  return [...tasks]
}
