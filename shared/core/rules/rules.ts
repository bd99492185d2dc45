/**
 * Rules say what a value must be. They stand here once: definitions, constructs of the infrastructure and the HTTP API hold
 * what they are given against the same rules, so that a wrong field is refused in the same words wherever it is said.
 *
 * A message follows the name of its field: `must be EXPECTED, not VALUE`. What it repeats of a value is bounded.
 */
import type { FieldProblem } from '../errors.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type Rule<Value = unknown> = {
  /** What is legal, as a noun phrase. */
  readonly expected: string
  /** What is legal, as JSON Schema: the API documents its fields with it. */
  readonly schema: JsonSchema
  /** What is wrong with a value, each problem with its dotted path that begins with `path`; undefined counts as not given. */
  problems(value: unknown, path: string): FieldProblem[]
  /** For the compiler alone: no rule has this member. */
  readonly value?: Value
}

export type ValueOf<One> = One extends Rule<infer Value> ? Value : never

/** The problem of a value as a whole; none when it fits. */
export function unless(isLegal: boolean, expected: string, value: unknown, path: string): FieldProblem[] {
  return isLegal ? [] : [{ path, message: wrong(expected, value) }]
}

export function wrong(expected: string, value: unknown): string {
  return value === undefined ? `is required: ${expected}` : `must be ${expected}, not ${shown(value)}`
}

const SHOWN_CHARACTERS = 80

/** A value as messages repeat it: texts and numbers as far as they are short, of others what they are. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return `'${cutShort(value.toWellFormed())}'`
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list'
  if (typeof value === 'object') return value === null ? 'null' : 'an object'
  if (typeof value === 'function' || typeof value === 'symbol') return `a ${typeof value}`
  return String(value)
}

function cutShort(text: string): string {
  const plain = text.replace(/\p{Cc}/gu, '·')
  return plain.length > SHOWN_CHARACTERS ? `${plain.slice(0, SHOWN_CHARACTERS).toWellFormed()}…` : plain
}

export function inside(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}
