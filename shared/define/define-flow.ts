import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { TypeConfiguration, TypeLimits } from '../core/types/task-type.ts'
import type { TaskDefinition } from './define-task.ts'
import { distinctTasks } from './distinct-tasks.ts'
import { configuredSteps, type FlowStep, refuseFlow, tasksOf } from './flow-steps.ts'
import type { CheckedSteps, FlowOutput, ParamsOf } from './flow-types.ts'
import { type Signature, type SignatureOptions, signatureOf, type WithArguments } from './signature.ts'
import { refuseTypeName } from './type-name.ts'

/** A flow: a type whose tasks are worked on step by step, by the types of its steps. */
export type Flow<Input = unknown, Output = unknown> = {
  readonly kind: 'baton-flow'
  readonly type: string
  readonly config: TypeConfiguration
  /** For types alone: each step's task parses what it is given. */
  readonly input?: StandardSchemaV1<Input, unknown>
  /** What its steps do and undo, each definition once. */
  readonly tasks: readonly TaskDefinition[]
  /** A task of this flow with this input, to be a member of a canvas or to be published as it is. */
  with(...given: WithArguments<Input>): Signature<Output>
}

type FlowSettings<Schema> = {
  /** Any Standard Schema of an object. */
  readonly input?: Schema
  /** What becomes of the steps that are done when a task is cancelled. @default 'undo' */
  readonly onCancel?: 'undo' | 'leave'
  /** Limit of all steps together; undoing takes the time it needs. */
  readonly deadlineMs?: number
  readonly retentionMs?: number
  readonly priority?: number
  /** Of the flow as a whole, beside those of its steps' types. @default no limits */
  readonly limits?: TypeLimits
  readonly shards?: number
  /** Whether what happens to its tasks is told as events. @default false */
  readonly events?: boolean
}

/**
 * Defines a flow: steps that are done one after the other as one task. When one fails for good, it and those before it
 * are undone, last first; steps without `undo` are passed over. Handlers find the flow's input and the results of the
 * steps so far in `ctx.params`, which are their input, too, unless the step gives another.
 *
 * ```ts
 * export const order = defineFlow('order', {
 *   input: z.object({ sku: z.string(), cents: z.int() }),
 *   steps: [
 *     { name: 'reserve', do: reserveStock, undo: freeStock, timeoutMs: 300_000 },
 *     { name: 'charge', do: charge, undo: { task: refund, retry: { maxRetries: 20 } } },
 *     { name: 'ship', do: ship },
 *   ],
 * })
 * ```
 *
 * @throws BatonError `invalid`, naming each field, its value and what is legal, when the type's name is none, an option is
 * wrong, there are not 1–100 steps, two have one name, or a step does what is no single piece of work: a flow, or a task
 * with several stages.
 */
export function defineFlow<
  const Steps extends readonly FlowStep[],
  Schema extends StandardSchemaV1<object, unknown> = StandardSchemaV1<object, unknown>,
>(
  type: string,
  definition: FlowSettings<Schema> & {
    readonly steps: Steps & CheckedSteps<Steps, ParamsOf<StandardSchemaV1.InferInput<Schema>>>
  },
): Flow<StandardSchemaV1.InferInput<Schema>, FlowOutput<Steps>> {
  refuseTypeName(type)
  const { input, steps, onCancel, limits, shards, events, ...defaults } = definition
  const config: TypeConfiguration = {
    kind: 'flow',
    defaults,
    steps: configuredSteps(steps),
    ...(onCancel !== undefined && { onCancel }),
    ...(limits !== undefined && { limits }),
    ...(shards !== undefined && { shards }),
    ...(events !== undefined && { events }),
  }
  refuseFlow(type, config, steps)
  return {
    kind: 'baton-flow',
    type,
    config,
    ...(input && { input: input as StandardSchemaV1<StandardSchemaV1.InferInput<Schema>, unknown> }),
    tasks: distinctTasks(tasksOf(steps)),
    with: (given?: unknown, options?: SignatureOptions) => signatureOf(type, given, options),
  }
}
