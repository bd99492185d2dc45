import type * as z from 'zod'
import type { FieldProblem } from '../../shared/core/errors.ts'
import { jsonProblem } from '../../shared/core/json.ts'

export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/**
 * Holds a value against a schema. Paths of problems are dotted and begin with `at`. What JSON text can say but no store
 * can keep exactly is found first.
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at = '',
): Checked<z.infer<Schema>> {
  const unstorable = jsonProblem(value, at)
  return unstorable ? { ok: false, problems: [unstorable] } : fits(schema, value, at)
}

/** As `check`, for values whose members are checked one by one. */
export function fits<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at = '',
): Checked<z.infer<Schema>> {
  const parsed = schema.safeParse(value)
  if (parsed.success) return { ok: true, value: parsed.data }
  return { ok: false, problems: parsed.error.issues.flatMap(issue => problemsOf(issue, at)) }
}

/** One issue names all unknown members at once; a reader looks for each under its own path. */
function problemsOf(issue: z.core.$ZodIssue, at: string): FieldProblem[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [{ path: dotted(at, path), message: messageOf(issue) }]
  return issue.keys.map(unknown => ({ path: dotted(at, [...path, unknown]), message: issue.message }))
}

export function dotted(at: string, path: readonly string[]): string {
  return [...(at === '' ? [] : [at]), ...path].join('.')
}

/** Zod says what is legal, after what is wrong; here the field is the subject of the sentence. */
function messageOf(issue: z.core.$ZodIssue): string {
  const isMissing = issue.code === 'invalid_type' && issue.message.endsWith('received undefined')
  if (isMissing) return `is required, as ${issue.expected}`
  return issue.message
    .replace(/^Invalid input: expected/, 'must be')
    .replace(/^Invalid option: expected/, 'must be')
    .replace(/^Too (big|small): expected \w+ to/, 'must')
}
