import type { FieldProblem } from '../errors.ts'

/** Any JSON value. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }

/** Levels of nesting. Deeper values are refused, so that no walk over a value overflows the stack. */
export const JSON_DEPTH_MAX = 200

/** Replaces, in a parsed value, a whole number whose digits a double does not hold. */
export const INEXACT: unique symbol = Symbol('inexact number')

/**
 * The first problem that keeps `value` from being stored exactly as JSON: NaN, numbers that have lost digits, functions,
 * undefined members, class instances, or nesting beyond 200 levels. Undefined when there is none.
 */
export function jsonProblem(value: unknown, path = '', depth = 0): FieldProblem | undefined {
  if (depth > JSON_DEPTH_MAX) return { path, message: `nests deeper than ${JSON_DEPTH_MAX} levels` }
  if (value === null || typeof value === 'string' || typeof value === 'boolean') return undefined
  if (typeof value === 'number') return numberProblem(value, path)
  if (typeof value !== 'object') return { path, message: whyNotJson(value) }
  if (!Array.isArray(value) && !isPlain(value))
    return { path, message: 'is a class instance; give plain JSON' }
  for (const [name, member] of Object.entries(value)) {
    const problem = jsonProblem(member, path === '' ? name : `${path}.${name}`, depth + 1)
    if (problem) return problem
  }
  return undefined
}

/** The path at which a value contains itself, which JSON cannot express. Undefined for any other value. */
export function circularAt(value: unknown, path = '', within: readonly object[] = []): string | undefined {
  if (typeof value !== 'object' || value === null || within.length > JSON_DEPTH_MAX) return undefined
  if (within.includes(value)) return path
  if (!Array.isArray(value) && !isPlain(value)) return undefined
  for (const [name, member] of Object.entries(value)) {
    const found = circularAt(member, path === '' ? name : `${path}.${name}`, [...within, value])
    if (found !== undefined) return found
  }
  return undefined
}

/** The problem of a number that JSON text cannot hold. Finite numbers have none; -0 becomes 0, which is accepted. */
function numberProblem(value: number, path: string): FieldProblem | undefined {
  return Number.isFinite(value) ? undefined : { path, message: `is ${value}; JSON has finite numbers only` }
}

function whyNotJson(value: unknown): string {
  if (value === INEXACT) return 'would lose digits as a JSON number; send it as a string'
  return `is ${typeof value}, which JSON cannot hold`
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The value as JSON text in which the order of an object's members makes no difference. */
export function sortedJson(value: Json): string {
  return JSON.stringify(value, (_name, member: Json) =>
    isJsonObject(member) ? Object.fromEntries(Object.entries(member).sort(byName)) : member,
  )
}

export function isJsonObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function byName([one]: [string, Json], [other]: [string, Json]): number {
  return one < other ? -1 : Number(one > other)
}

/** Bytes of the value as JSON text in UTF-8. */
export function jsonBytes(value: Json): number {
  return textBytes(JSON.stringify(value))
}

/**
 * Bytes of the value as JSON text within another JSON text, the form in which Lambda delivers the body of an answer. Each quote and
 * each backslash takes one more byte, so the result is at most twice `jsonBytes`.
 */
export function escapedBytes(value: Json): number {
  const text = JSON.stringify(value)
  let escapes = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code === QUOTE || code === BACKSLASH) escapes += 1
  }
  return textBytes(text) + escapes
}

const QUOTE = 0x22
const BACKSLASH = 0x5c

const encoder = new TextEncoder()

/** Bytes of the text in UTF-8. */
export function textBytes(text: string): number {
  return encoder.encode(text).length
}

/** `T`, with the members that may be undefined as optional members. */
type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K]
} & { [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined> }

/** The object without its undefined members. DynamoDB cannot store them, and the compiler allows none in optional members. */
export function defined<T extends object>(value: T): Defined<T> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Defined<T>
}
