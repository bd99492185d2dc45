import type { StandardSchemaV1 } from '@standard-schema/spec'
import { BatonError } from '../core/errors.ts'
import type { PartialOptions } from '../core/options/options.ts'
import { refuseConfiguration } from '../core/rules/type-configuration.ts'
import type { Ordering } from '../core/task/task.ts'
import type { TypeConfiguration, TypeLimits } from '../core/types/task-type.ts'
import type { Next, Release } from '../signals.ts'
import { type Signature, type SignatureOptions, signatureOf, type WithArguments } from './signature.ts'
import { runStages, type StagedOutput, type StageHandlers } from './stages.ts'
import type { TaskContext } from './task-context.ts'
import { refuseTypeName } from './type-name.ts'

/** A type, its defaults and its handler. `Input` is what publishers give, `Parsed` what the handler gets. */
export type TaskDefinition<Input = unknown, Output = unknown, Parsed = unknown> = {
  readonly kind: 'baton-task'
  readonly type: string
  readonly config: TypeConfiguration
  readonly input?: StandardSchemaV1<Input, Parsed>
  /** Fields that are hidden from logs and errors, by their paths. */
  readonly redact?: readonly string[]
  /** Of a task with stages: their names, the first one first. */
  readonly stages?: readonly string[]
  run(input: Parsed, context: TaskContext): Returned<Output>
  /** A task of this type with this input, to be a member of a canvas or to be published as it is. */
  with(...given: WithArguments<Input>): Signature<Output>
}

type Returned<Output> = Promise<Output | Release | Next> | Output | Release | Next

type Definition<Schema extends StandardSchemaV1> = PartialOptions & {
  readonly priority?: number
  /** In which order its tasks are run: by due time, or the most urgent first. @default 'arrival' */
  readonly ordering?: Ordering
  /** How many may start in a period, and how many may run at a time. @default no limits */
  readonly limits?: TypeLimits
  readonly shards?: number
  /** Whether what happens to its tasks is told as events. @default false */
  readonly events?: boolean
  /**
   * Fields that are hidden from what its runs log and from their errors, by their paths, as `card.number`: in the process's log, in
   * `runs[].log` and in `error`. The values that the input has there (texts and numbers of four characters or more) are hidden in
   * messages, too. What the handler writes to the console itself is not touched.
   */
  readonly redact?: readonly string[]
  /** Any Standard Schema (zod, valibot, arktype …). Input that does not fit fails the task without a retry. */
  readonly input?: Schema
}

type RunDefinition<Schema extends StandardSchemaV1, Output> = Definition<Schema> & {
  run(input: StandardSchemaV1.InferOutput<Schema>, context: TaskContext): Returned<Output>
  readonly stages?: never
}

type StagedDefinition<Schema extends StandardSchemaV1, Names extends string, Stages> = Definition<Schema> & {
  /** A handler for each stage; the first one begins, and each moves the task on by `return ctx.next('…')`. */
  readonly stages: Stages & StageHandlers<Names, Schema>
  readonly run?: never
}

/** Either form, as it comes from callers that no compiler has checked. */
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
 * Defines a task type: its handler, or one for each of its stages, its typed input and its defaults in one value, which
 * the client and the infrastructure read too.
 *
 * @throws BatonError `invalid` when the type's name is not 1–100 of letters, digits, dot, underscore, hyphen; when there
 * is not exactly one of `run` and `stages`; when `stages` is empty; when `redact` has an empty path; when an option is wrong:
 * the message names each field, its value and what is legal, as the API does.
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
    ...(ordering !== undefined && { ordering }),
    ...(limits !== undefined && { limits }),
    ...(shards !== undefined && { shards }),
    ...(events !== undefined && { events }),
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
  throw new BatonError('invalid', `${type}: 'redact' has '${wrong}'; give paths of fields, as 'card.number'`)
}

function handlerOf(type: string, run: AnyForm['run'], stages: AnyForm['stages']): Handler {
  if (run && !stages) return run
  if (stages && !run) return runStages(type, stages)
  throw new BatonError(
    'invalid',
    `${type}: give either 'run' or 'stages', ${run ? 'not both' : 'one of them'}`,
  )
}
