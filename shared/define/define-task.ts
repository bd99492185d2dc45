import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { PartialOptions } from '../core/options.ts'
import { refuseConfiguration, typeNameProblems } from '../core/rules/type-configuration.ts'
import type { Ordering } from '../core/states.ts'
import type { TypeConfiguration, TypeLimits } from '../core/types/task-type.ts'
import { defined, illegal, type Json } from '../core/values/values.ts'
import type { Returned, TaskContext, TaskDefinition } from './definitions.ts'
import type { Handler, StagedOutput, StageHandlers } from './handler.ts'
import { runStages, withTypedContext } from './handler.ts'
import { type SignatureOptions, signatureOf } from './signature.ts'

interface RunDefinition<Schema, PreviousSchema, ParamsSchema, Run>
  extends TaskSettings<Schema, PreviousSchema, ParamsSchema> {
  /**
   * The handler. What it returns is the task's result, stored as JSON. What it throws fails the run; see `Fatal`, `RetryLater` and
   * `Release`.
   */
  readonly run: Run
  readonly stages?: never
}

interface StagedDefinition<Schema, PreviousSchema, ParamsSchema, Stages>
  extends TaskSettings<Schema, PreviousSchema, ParamsSchema> {
  /** One handler per stage. A task begins in the first stage; a handler moves it on by `return ctx.next('…')`. */
  readonly stages: Stages
  readonly run?: never
}

/** The definition as the compiler has not checked it. */
type AnyForm = TaskSettings<StandardSchemaV1, StandardSchemaV1, StandardSchemaV1> & {
  readonly run?: Handler
  readonly stages?: Readonly<Record<string, Handler>>
}

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
export function defineTask<
  const Name extends string,
  Schema extends StandardSchemaV1,
  PreviousSchema extends StandardSchemaV1 = AnyPrevious,
  ParamsSchema extends StandardSchemaV1 = AnyParams,
  Output = never,
  StageNames extends string = never,
  Stages = Record<never, never>,
>(
  type: Name,
  // One signature for both forms gives one error for a wrong option, where two signatures give two.
  definition:
    | RunDefinition<
        Schema,
        PreviousSchema,
        ParamsSchema,
        (
          input: StandardSchemaV1.InferOutput<Schema>,
          context: TaskContext<
            string,
            unknown,
            StandardSchemaV1.InferOutput<PreviousSchema>,
            StandardSchemaV1.InferOutput<ParamsSchema>
          >,
        ) => Returned<Output>
      >
    | StagedDefinition<
        Schema,
        PreviousSchema,
        ParamsSchema,
        Stages & StageHandlers<StageNames, Schema, PreviousSchema>
      >,
): TaskDefinition<
  StandardSchemaV1.InferInput<Schema>,
  Output | StagedOutput<Stages>,
  StandardSchemaV1.InferOutput<Schema>,
  Name,
  StandardSchemaV1.InferInput<ParamsSchema>
> {
  refuseTypeName(type)
  return taskOf(type, definition as AnyForm) as never
}

function taskOf(type: string, definition: AnyForm): TaskDefinition {
  const { input, previous, params, run, stages, redact, ...settings } = definition
  const { ordering, limits, shards, events, checkInput, ...defaults } = settings
  const config: TypeConfiguration = {
    kind: 'handler',
    defaults,
    ...defined({ ordering, limits, shards, events, checkInput }),
  }
  refuseConfiguration(`task '${type}'`, config)
  return {
    kind: 'baton-task',
    type,
    config,
    ...(input && { input }),
    ...(params && { params }),
    ...(redact && { redact: checkedPaths(type, redact) }),
    ...(stages && { stages: Object.keys(stages) }),
    run: withTypedContext(type, { previous, params }, handlerOf(type, run, stages)),
    with: (given?: unknown, options?: SignatureOptions) => signatureOf(type, given, options),
  }
}

function checkedPaths(type: string, paths: readonly string[]): readonly string[] {
  const wrong = paths.find(path => path.split('.').includes(''))
  if (wrong === undefined) return paths
  throw illegal(`${type}: 'redact' has '${wrong}'; give paths of fields, such as 'card.number'`)
}

function handlerOf(type: string, run: AnyForm['run'], stages: AnyForm['stages']): Handler {
  if (run && !stages) return run
  if (stages && !run) return runStages(type, stages)
  throw illegal(`${type}: give either 'run' or 'stages', ${run ? 'not both' : 'one of them'}`)
}

/** The settings of a task type besides its handler: the defaults of its tasks' options, and what concerns all tasks of the type. */
/**
 * What a limit may count by: a field of the input as it is published, `userId` or `fairnessKey`. Without a schema every name is possible.
 */
export type LimitKey<Schema> = Schema extends StandardSchemaV1
  ? FieldOf<StandardSchemaV1.InferInput<Schema>> | 'userId' | 'fairnessKey'
  : string

type FieldOf<Input> = unknown extends Input ? string : Input extends object ? NameIn<Input> : never

/** The names of an object's fields; any text for an object of which nothing is known. */
type NameIn<Input> = [keyof Input] extends [never] ? string : Extract<keyof Input, string>

interface TaskSettings<Schema, PreviousSchema, ParamsSchema> extends PartialOptions {
  /** Priority of tasks that are published without one; higher is more urgent. @default 0 */
  readonly priority?: number
  /**
   * The order in which waiting tasks run. `arrival`: by due time. `priority`: by priority, then due time. `aged`: by due
   * time minus `priority` seconds, so that no task waits for ever. @default 'arrival'
   */
  readonly ordering?: Ordering
  /** How many tasks may start per period (`rate`), and how many may run at a time (`concurrency`). @default no limits */
  readonly limits?: TypeLimits<LimitKey<Schema>>
  /** How many index partitions the type's tasks are spread over: 1–64. It may only grow. @default 4 */
  readonly shards?: number
  /** Whether changes of the type's tasks are published as events. @default false */
  readonly events?: boolean
  /** Whether the API refuses inputs that do not fit `input`, as far as JSON Schema can express it. @default true */
  readonly checkInput?: boolean
  /**
   * Paths of the input's fields, such as `card.number`, that are hidden in the process's log, in `runs[].log` and in
   * `error`. Messages hide the values of these fields too, when a value has four characters or more. Lines that the
   * handler itself writes to the console are not changed. @default nothing is hidden
   */
  readonly redact?: readonly string[]
  /**
   * The schema of the input: any Standard Schema (zod, valibot, arktype …). An input that does not fit fails the task without a
   * retry. @default any JSON is accepted, and the handler's input is `unknown`
   */
  readonly input?: Schema
  /**
   * The schema of what the task before hands on in a canvas or to a callback. `ctx.previous` then has its type. A value that does not
   * fit fails the task without a retry. Make it optional if tasks of this type also run alone. @default `ctx.previous` is any JSON
   */
  readonly previous?: PreviousSchema
  /**
   * The schema of the parameters of the flows whose steps this task does. `ctx.params` then has its type, and a flow that does not have
   * these parameters does not compile. Parameters that do not fit fail the step without a retry. Make it optional if the task also runs
   * outside of flows. @default `ctx.params` holds any JSON
   */
  readonly params?: ParamsSchema
}

/** Stands for a schema of `previous` that is left out. */
type AnyPrevious = StandardSchemaV1<unknown, Json | undefined>

/** Stands for a schema of `params` that is left out. */
type AnyParams = StandardSchemaV1<unknown, Readonly<Record<string, Json>> | undefined>

/** @throws BatonError `invalid` when `type` is not 1–100 letters, digits, dots, underscores and hyphens, or is reserved. */
export function refuseTypeName(type: string): void {
  const problems = typeNameProblems(type, 'type')
  const [first] = problems
  if (first) throw illegal(`'${type}' is not a task type: it ${first.message}`, { problems })
}
