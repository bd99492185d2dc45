import type { StandardSchemaV1 } from '@standard-schema/spec'
import { BatonError } from '../core/errors.ts'
import { refuseConfiguration } from '../core/rules/type-configuration.ts'
import type { TypeConfiguration } from '../core/types/task-type.ts'
import { defined } from '../core/values/json.ts'
import type { Returned, TaskContext, TaskDefinition } from './definitions.ts'
import { withTypedContext } from './handler.ts'
import { type SignatureOptions, signatureOf } from './signature.ts'
import { runStages, type StagedOutput, type StageHandlers } from './stages.ts'
import type { AnyParams, AnyPrevious, TaskSettings } from './task-settings.ts'
import { refuseTypeName } from './type-name.ts'

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

type Handler = (input: never, context: TaskContext) => unknown

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
  const { input, previous, params, run, stages, ordering, limits, shards, events, redact, ...defaults } =
    definition
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
