import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Flow } from './define-flow.ts'
import type { TaskDefinition } from './define-task.ts'

// biome-ignore lint/suspicious/noExplicitAny: what a handler takes says nothing about who may name its task
export type AnyTask = TaskDefinition<any, any, any>

/** Any definition; a caller may know it by its type alone (`import type`), and then bundles no handler. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyDefinition = AnyTask | Flow<any, any>

/** What publishers give. */
export type InputOf<Definition extends { readonly input?: unknown }> =
  NonNullable<Definition['input']> extends StandardSchemaV1<infer Input, unknown> ? Input : unknown

/** What tasks of the definition come to. */
export type OutputOf<Definition> =
  Definition extends TaskDefinition<infer _Input, infer Output>
    ? Output
    : Definition extends Flow<infer _FlowInput, infer FlowOutput>
      ? FlowOutput
      : unknown
