import type { StandardSchemaV1 } from '@standard-schema/spec'
import { defined } from '../core/defined.ts'
import { BatonError } from '../core/errors.ts'
import type { PartialOptions } from '../core/options/options.ts'
import { refuseConfiguration } from '../core/rules/type-configuration.ts'
import type { Ordering } from '../core/states.ts'
import type { TypeConfiguration, TypeLimits } from '../core/types/task-type.ts'
import type { Next, Release } from '../signals.ts'
import { type Signature, type SignatureOptions, signatureOf, type WithArguments } from './signature.ts'
import { runStages, type StagedOutput, type StageHandlers } from './stages.ts'
import type { TaskContext } from './task-context.ts'
import { refuseTypeName } from './type-name.ts'

/**
 * A task type with its defaults and its handler, as `defineTask` returns it. `Input` is the type of a published input,
 * `Parsed` the type that the handler gets from the schema, `Output` the type of the result.
 */
export type TaskDefinition<Input = unknown, Output = unknown, Parsed = unknown> = {
  readonly kind: 'baton-task'
  /** The name of the task type. */
  readonly type: string
  /** The type's configuration, as `PUT /v1/types/{type}` takes it. */
  readonly config: TypeConfiguration
  /** The schema that parses the input before the handler runs. */
  readonly input?: StandardSchemaV1<Input, Parsed>
  /** Paths of the input's fields that are hidden in logs and errors. */
  readonly redact?: readonly string[]
  /** The names of the stages, in their order; absent for a task without stages. */
  readonly stages?: readonly string[]
  /** The handler. With stages, it runs the stage that `context.stage` names. */
  run(input: Parsed, context: TaskContext): Returned<Output>
  /** Returns a task of this type with this input: a member for a canvas, or a body for `publish`. */
  with(...given: WithArguments<Input>): Signature<Output>
}

type Returned<Output> = Promise<Output | Release | Next> | Output | Release | Next

type Definition<Schema extends StandardSchemaV1> = PartialOptions & {
  /** Priority of tasks that are published without one; higher is more urgent. @default 0 */
  readonly priority?: number
  /**
   * The order in which waiting tasks run. `arrival`: by due time. `priority`: by priority, then due time. `aged`: by due
   * time minus `priority` seconds, so that no task waits for ever. @default 'arrival'
   */
  readonly ordering?: Ordering
  /** How many tasks may start per period (`rate`), and how many may run at a time (`concurrency`). @default no limits */
  readonly limits?: TypeLimits
  /** How many index partitions the type's tasks are spread over: 1–64. It may only grow. @default 4 */
  readonly shards?: number
  /** Whether changes of the type's tasks are published as events. @default false */
  readonly events?: boolean
  /**
   * Paths of the input's fields, such as `card.number`, that are hidden in the process's log, in `runs[].log` and in
   * `error`. Messages hide the values of these fields too, when a value has four characters or more. Lines that the
   * handler itself writes to the console are not changed.
   */
  readonly redact?: readonly string[]
  /** Any Standard Schema (zod, valibot, arktype …). An input that does not fit fails the task without a retry. */
  readonly input?: Schema
}

type RunDefinition<Schema extends StandardSchemaV1, Output> = Definition<Schema> & {
  run(input: StandardSchemaV1.InferOutput<Schema>, context: TaskContext): Returned<Output>
  readonly stages?: never
}

type StagedDefinition<Schema extends StandardSchemaV1, Names extends string, Stages> = Definition<Schema> & {
  /** One handler per stage. A task begins in the first stage; a handler moves it on by `return ctx.next('…')`. */
  readonly stages: Stages & StageHandlers<Names, Schema>
  readonly run?: never
}

/** Both forms in one type, for the calls that the compiler has not checked. */
type AnyForm = Definition<StandardSchemaV1> & {
  readonly run?: Handler
  readonly stages?: Readonly<Record<string, Handler>>
}

type Handler = (input: never, context: TaskContext) => unknown

type Defined<Schema extends StandardSchemaV1, Output> = TaskDefinition<
  StandardSchemaV1.InferInput<Schema>,
  Output,
  StandardSchemaV1.InferOutput<Schema>
>

/**
 * Defines a task type in one value: its input's schema, its handler (or one handler per stage) and its defaults. Workers,
 * the client and the infrastructure read the same value.
 *
 * ```ts
 * export const resize = defineTask('resize', {
 *   input: z.object({ url: z.url(), width: z.int() }),
 *   timeoutMs: 60_000,
 *   run: async ({ url, width }, ctx) => ({ bytes: await resizeImage(url, width, ctx.signal) }),
 * })
 * ```
 *
 * @throws BatonError `invalid` when the name is not 1–100 letters, digits, dots, underscores and hyphens, when `run` and `stages`
 * are both given or both left out, when `stages` is empty or `redact` has an empty path, or when an option is wrong. The message
 * names each wrong field, its value and the legal ones.
 */
export function defineTask<Schema extends StandardSchemaV1, Output>(
  type: string,
  definition: RunDefinition<Schema, Output>,
): Defined<Schema, Output>
export function defineTask<Schema extends StandardSchemaV1, Names extends string, Stages>(
  type: string,
  definition: StagedDefinition<Schema, Names, Stages>,
): Defined<Schema, StagedOutput<Stages>>
export function defineTask(type: string, definition: AnyForm): TaskDefinition {
  refuseTypeName(type)
  const { input, run, stages, ordering, limits, shards, events, redact, ...defaults } = definition
  const config: TypeConfiguration = {
    kind: 'handler',
    defaults,
    ...defined({ ordering, limits, shards, events }),
  }
  refuseConfiguration(`task '${type}'`, config)
  return {
    kind: 'baton-task',
    type,
    config,
    ...(input && { input }),
    ...(redact && { redact: checkedPaths(type, redact) }),
    ...(stages && { stages: Object.keys(stages) }),
    run: handlerOf(type, run, stages) as TaskDefinition['run'],
    with: (given?: unknown, options?: SignatureOptions) => signatureOf(type, given, options),
  }
}

function checkedPaths(type: string, paths: readonly string[]): readonly string[] {
  const wrong = paths.find(path => path.split('.').includes(''))
  if (wrong === undefined) return paths
  throw new BatonError(
    'invalid',
    `${type}: 'redact' has '${wrong}'; give paths of fields, such as 'card.number'`,
  )
}

function handlerOf(type: string, run: AnyForm['run'], stages: AnyForm['stages']): Handler {
  if (run && !stages) return run
  if (stages && !run) return runStages(type, stages)
  throw new BatonError(
    'invalid',
    `${type}: give either 'run' or 'stages', ${run ? 'not both' : 'one of them'}`,
  )
}
