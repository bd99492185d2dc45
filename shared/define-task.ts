import type { StandardSchemaV1 } from '@standard-schema/spec'
import { BatonError } from './core/errors.ts'
import type { Json } from './core/json.ts'
import { MAX_TYPE_LENGTH } from './core/limits.ts'
import type { PartialOptions } from './core/options.ts'
import type { Ordering } from './core/task.ts'
import type { TypeConfiguration, WebhookSettings } from './core/task-type.ts'
import type { Log } from './ports.ts'
import type { Release } from './signals.ts'

/** What a handler is given besides its input. */
export type TaskContext = {
  readonly taskId: string
  readonly type: string
  readonly key: string
  readonly runId: string
  /** 1 for the first run; counts failed and lost runs. */
  readonly attempt: number
  /** Grows with every claim; hand it to stores that can refuse an older one. */
  readonly fence: number
  /** The same for every run of this piece of work; differs after a restart. */
  readonly idempotencyKey: string
  /** W3C trace context of this run, for the services that the handler calls. */
  readonly traceparent?: string
  /** Aborts when the run is over: cancelled, removed, lost, timed out, or its process must stop. */
  readonly signal: AbortSignal
  /** Stored with the next heartbeat. */
  progress(value: Json): void
  /**
   * Publishes another task. Idempotent when `key` is derived from this task. Throws BatonError `refused` once the signal
   * is aborted: the run is somebody else's, or nobody's.
   */
  publish(publication: ChildPublication): Promise<{ id: string; created: boolean }>
  readonly log: Log
  /** Configuration of the task's type, where its kind has some. */
  readonly webhook?: WebhookSettings
}

export type ChildPublication = {
  readonly type: string
  readonly key?: string
  readonly input?: Json
  readonly delayMs?: number
  readonly priority?: number
}

/** A type, its defaults and its handler. `Input` is what publishers give, `Parsed` what the handler gets. */
export type TaskDefinition<Input = unknown, Output = unknown, Parsed = unknown> = {
  readonly kind: 'baton-task'
  readonly type: string
  readonly config: TypeConfiguration
  readonly input?: StandardSchemaV1<Input, Parsed>
  run(input: Parsed, context: TaskContext): Promise<Output | Release> | Output | Release
}

type Definition<Schema extends StandardSchemaV1, Output> = PartialOptions & {
  readonly priority?: number
  readonly ordering?: Ordering
  readonly shards?: number
  /** Any Standard Schema (zod, valibot, arktype …). Input that does not fit fails the task without a retry. */
  readonly input?: Schema
  run(
    input: StandardSchemaV1.InferOutput<Schema>,
    context: TaskContext,
  ): Promise<Output | Release> | Output | Release
}

const TYPE_PATTERN = new RegExp(`^[A-Za-z0-9._-]{1,${MAX_TYPE_LENGTH}}$`)

/**
 * Defines a task type: its handler, its typed input and its defaults in one value, which the client and the
 * infrastructure read too.
 *
 * @throws BatonError `invalid` when the type's name is not 1–100 of letters, digits, dot, underscore, hyphen.
 */
export function defineTask<Schema extends StandardSchemaV1, Output>(
  type: string,
  definition: Definition<Schema, Output>,
): TaskDefinition<StandardSchemaV1.InferInput<Schema>, Output, StandardSchemaV1.InferOutput<Schema>> {
  if (!TYPE_PATTERN.test(type)) {
    throw new BatonError(
      'invalid',
      `'${type}' is no task type: give 1–${MAX_TYPE_LENGTH} of A–Z a–z 0–9 . _ -`,
    )
  }
  const { input, run, ordering, shards, ...defaults } = definition
  return {
    kind: 'baton-task',
    type,
    config: {
      kind: 'handler',
      defaults,
      ...(ordering !== undefined && { ordering }),
      ...(shards !== undefined && { shards }),
    },
    ...(input && {
      input: input as StandardSchemaV1<
        StandardSchemaV1.InferInput<Schema>,
        StandardSchemaV1.InferOutput<Schema>
      >,
    }),
    run,
  }
}
