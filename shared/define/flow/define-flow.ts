import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { TypeConfiguration, TypeLimits } from '../../core/types/task-type.ts'
import { defined } from '../../core/values/values.ts'
import { type LimitKey, refuseTypeName } from '../define-task.ts'
import { distinctTasks, type Flow } from '../definitions.ts'
import { type SignatureOptions, signatureOf } from '../signature.ts'
import type { CheckedSteps, FlowOutput, FlowStep, ParamsOf } from './flow-steps.ts'
import { configuredSteps, tasksOf } from './flow-steps.ts'
import { refuseFlow } from './refuse-flow.ts'

type FlowSettings<Schema> = {
  /** The schema of the flow's input, which is an object: any Standard Schema. @default any object, which the compiler does not check */
  readonly input?: Schema
  /** Whether cancelling a task undoes the steps that are done, or leaves them. @default 'undo' */
  readonly onCancel?: 'undo' | 'leave'
  /** How long all steps together may take, in milliseconds. It does not limit the undoing. @default no deadline */
  readonly deadlineMs?: number
  /** How long a task is kept after its end, in milliseconds. @default 7 days */
  readonly retentionMs?: number
  /** Priority of tasks that are published without one; higher is more urgent. @default 0 */
  readonly priority?: number
  /** Limits of the flow as a whole, in addition to the limits of its steps' types. @default no limits */
  readonly limits?: TypeLimits<LimitKey<Schema>>
  /** How many index partitions the type's tasks are spread over: 1–64. It may only grow. @default 4 */
  readonly shards?: number
  /** Whether changes of the flow's tasks are published as events. @default false */
  readonly events?: boolean
  /** Whether the API refuses inputs that do not fit `input`, as far as JSON Schema can express it. @default true */
  readonly checkInput?: boolean
}

/**
 * Defines a flow: a list of steps that run one after the other as one task. When a step fails for good, that step and the
 * steps before it are undone, last first. Steps without `undo` are skipped. `ctx.params` holds the flow's input and the
 * results of the steps so far. It is also the handler's input, unless the step gives another one.
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
 * @throws BatonError `invalid` when the type's name or an option is wrong, when the number of steps is not 1–100, when two steps
 * have the same name, or when the task of a step is a flow or has several stages. The message names each wrong field, its
 * value and the legal ones.
 */
export function defineFlow<
  const Name extends string,
  const Steps extends readonly FlowStep[],
  Schema extends StandardSchemaV1<object, unknown> = StandardSchemaV1<object, unknown>,
>(
  type: Name,
  definition: FlowSettings<Schema> & {
    readonly steps: Steps & CheckedSteps<Steps, ParamsOf<StandardSchemaV1.InferInput<Schema>>>
  },
): Flow<StandardSchemaV1.InferInput<Schema>, FlowOutput<Steps>, Name> {
  refuseTypeName(type)
  const { input, steps, onCancel, limits, shards, events, checkInput, ...defaults } = definition
  const config: TypeConfiguration = {
    kind: 'flow',
    defaults,
    steps: configuredSteps(steps),
    ...defined({ onCancel, limits, shards, events, checkInput }),
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
