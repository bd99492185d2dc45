import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { PartialOptions } from '../core/options/options.ts'
import type { Ordering } from '../core/states.ts'
import type { TypeLimits } from '../core/types/task-type.ts'
import type { Json } from '../core/values/json.ts'

/** The settings of a task type beside its handler: the defaults of its tasks' options, and what concerns all tasks of the type. */
export interface TaskSettings<Schema, PreviousSchema, ParamsSchema> extends PartialOptions {
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
export type AnyPrevious = StandardSchemaV1<unknown, Json | undefined>

/** Stands for a schema of `params` that is left out. */
export type AnyParams = StandardSchemaV1<unknown, Readonly<Record<string, Json>> | undefined>
