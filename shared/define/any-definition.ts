import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Flow } from './define-flow.ts'
import type { TaskDefinition } from './define-task.ts'

// biome-ignore lint/suspicious/noExplicitAny: a task of any input may be named
export type AnyTask = TaskDefinition<any, any, any>

/** Any task or flow definition. A publisher can import only its type (`import type`), and then bundles no handler. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyDefinition = AnyTask | Flow<any, any>

/** The type of the input that publishers give. */
export type InputOf<Definition extends { readonly input?: unknown }> =
  NonNullable<Definition['input']> extends StandardSchemaV1<infer Input, unknown> ? Input : unknown

/** The type of the result of the definition's tasks. */
export type OutputOf<Definition> =
  Definition extends TaskDefinition<infer _Input, infer Output>
    ? Output
    : Definition extends Flow<infer _FlowInput, infer FlowOutput>
      ? FlowOutput
      : unknown
