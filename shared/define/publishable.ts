/**
 * What `client.publish` and `ctx.publish` take: a definition and its input, the name of a type and its input, or a body. Each of the two
 * has one signature for all forms. With a signature per form the compiler would answer a wrong input with an error per form.
 */

import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { DerivedBody } from '../api/publish.ts'
import type { FieldProblem } from '../core/values/values.ts'
import type { Canvas } from './canvases.ts'
import type { AnyDefinition } from './definitions.ts'

export type Publishable = AnyDefinition | string | DerivedBody

/** Whether what a publish was given is a canvas. */
export function isCanvas(what: unknown): what is Canvas {
  return typeof what === 'object' && what !== null && ('chain' in what || 'group' in what || 'chord' in what)
}

/** Makes the body of a task from the arguments of `publish`. A body itself is returned as it is. */
export function bodyOf(what: Publishable, [input, options]: readonly unknown[]): object {
  if (typeof what !== 'string' && !('kind' in what)) return what
  return { ...Object(options), type: typeof what === 'string' ? what : what.type, input }
}

/** What a schema finds wrong with an input, each with its dotted path below `root`. Undefined when the input fits. */
export async function inputProblems(
  schema: StandardSchemaV1 | undefined,
  input: unknown,
  root = 'input',
): Promise<FieldProblem[] | undefined> {
  const parsed = await schema?.['~standard'].validate(input)
  return parsed?.issues && problemsOf(parsed.issues, root)
}

/** The issues of a schema, each with its dotted path below `root`. */
export function problemsOf(issues: readonly StandardSchemaV1.Issue[], root: string): FieldProblem[] {
  return issues.map(({ path = [], message }) => ({
    path: [root, ...path.map(part => String(typeof part === 'object' ? part.key : part))].join('.'),
    message,
  }))
}

export function textOf(problems: readonly FieldProblem[]): string {
  return problems.map(({ path, message }) => `${path}: ${message}`).join('; ')
}
