import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { AsJson } from './as-json.ts'
import type { TaskDefinition } from './define-task.ts'
import type { Flow } from './flow/define-flow.ts'

// biome-ignore lint/suspicious/noExplicitAny: a task of any input may be named
export type AnyTask = TaskDefinition<any, any, any, string, any>

/** Any task or flow definition. A publisher can import only its type (`import type`), and then bundles no handler. */
// biome-ignore lint/suspicious/noExplicitAny: as above
export type AnyDefinition = AnyTask | Flow<any, any, string>

/** The type of the input that publishers give. */
export type InputOf<Definition extends { readonly input?: unknown }> =
  NonNullable<Definition['input']> extends StandardSchemaV1<infer Input, unknown> ? Input : unknown

/** The type of the result of the definition's tasks, as JSON gives it back. */
export type OutputOf<Definition> = Definition extends { readonly kind: 'baton-task' | 'baton-flow' }
  ? Definition extends { run(...given: never): unknown }
    ? Definition extends TaskDefinition<infer _Input, infer Output, infer _Parsed, infer _Name, infer _Params>
      ? AsJson<Output>
      : unknown
    : Definition extends Flow<infer _FlowInput, infer FlowOutput, infer _FlowName>
      ? AsJson<FlowOutput>
      : unknown
  : unknown
