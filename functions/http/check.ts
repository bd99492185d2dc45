import type * as z from 'zod'
import type { FieldProblem } from '../../shared/core/errors.ts'
import { jsonProblem } from '../../shared/core/json.ts'
import { didYouMean } from '../../shared/core/rules/nearest.ts'
import { joinPath, wrong } from '../../shared/core/rules/rules.ts'

export type Checked<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly FieldProblem[] }

/**
 * Checks a value against a schema. It first refuses values that JSON text can express but the store cannot keep exactly,
 * such as a number that would lose digits. Paths of problems are dotted and begin with `at`.
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at = '',
): Checked<z.infer<Schema>> {
  const unstorable = jsonProblem(value, at)
  return unstorable ? { ok: false, problems: [unstorable] } : checkSchema(schema, value, at)
}

/** Checks a value against a schema only, for values whose members `check` checks one by one. */
export function checkSchema<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  at = '',
): Checked<z.infer<Schema>> {
  const parsed = schema.safeParse(value, { reportInput: true })
  if (parsed.success) return { ok: true, value: parsed.data }
  return { ok: false, problems: parsed.error.issues.flatMap(issue => problemsOf(issue, at)) }
}

/** Translates an issue of zod. An issue about unknown members has a line for each: each line becomes a problem of its own. */
function problemsOf(issue: z.core.$ZodIssue, at: string): FieldProblem[] {
  const path = issue.path.map(String)
  if (issue.code !== 'unrecognized_keys') return [{ path: joinPath(at, path), message: messageOf(issue) }]
  const messages = issue.message.split('\n')
  return issue.keys.map((unknown, index) => ({
    path: joinPath(at, [...path, unknown]),
    message: messages[index] ?? issue.message,
  }))
}

/** Returns the message of an issue in the words of the core's rules. A message that a schema itself gives is kept. */
function messageOf(issue: z.core.$ZodIssue): string {
  const { input } = issue
  switch (issue.code) {
    case 'invalid_type':
      return wrong(NOUNS[issue.expected] ?? issue.expected, input)
    case 'invalid_value': {
      const words = issue.values.map(String)
      const question = typeof input === 'string' ? didYouMean(input, words) : ''
      return `${wrong(words.length > 1 ? `one of ${words.join(', ')}` : `'${words}'`, input)}${question}`
    }
    case 'too_big':
      return `must have at most ${issue.maximum} ${membersOf(issue.origin)}${lengthOf(input)}`
    case 'too_small':
      return `must have at least ${issue.minimum} ${membersOf(issue.origin)}${lengthOf(input)}`
    default:
      return issue.message.replace(/^Invalid input: expected/, 'must be')
  }
}

const NOUNS: Readonly<Record<string, string>> = {
  array: 'a list',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  string: 'text',
}

function membersOf(origin: string): string {
  return origin === 'string' ? 'characters' : 'members'
}

function lengthOf(value: unknown): string {
  return typeof value === 'string' || Array.isArray(value) ? `, not ${value.length}` : ''
}
