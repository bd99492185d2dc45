/**
 * Rules say what a value must be. Task definitions, constructs of the infrastructure and the HTTP API check their values with the
 * same rules, so each of them refuses a wrong field with the same sentence.
 *
 * This file has the type of a rule and the form of its messages. `scalars.ts` and `compound.ts` make rules for single values and
 * for lists and objects. `options.ts` and `type-configuration.ts` hold the rules of options and of task types. `nearest.ts`
 * suggests similar names.
 *
 * A message follows the name of its field: `must be EXPECTED, not VALUE`. The part of the value that it repeats is bounded.
 */
import type { FieldProblem } from '../errors.ts'
import type { Json } from '../values/json.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

export type Rule<Value = unknown> = {
  /** The legal values, as a noun phrase. */
  readonly expected: string
  /** The legal values as JSON Schema, which documents the fields of the API. */
  readonly schema: JsonSchema
  /** The problems of a value, each with its dotted path, which begins with `path`. Undefined counts as not given. */
  problems(value: unknown, path: string): FieldProblem[]
  /** Carries the type for the compiler; no rule has this member at run time. */
  readonly value?: Value
}

/** The member of a rule's schema that names the component under which the OpenAPI document lists it. */
export const COMPONENT = '$component'

/**
 * The type of the values that a rule accepts, read-only at every depth. The type of an object keeps the doc comments on the members of
 * its shape, so that editors show them where the type is used.
 */
export type ValueOf<One> = One extends { readonly shape: infer Members }
  ? ObjectOf<Members>
  : One extends { readonly element: infer Element }
    ? ReadonlyArray<ValueOf<Element>>
    : One extends { readonly value?: infer Value }
      ? ReadonlyDeep<Exclude<Value, undefined>>
      : never

type OptionalIn<Members> = {
  [Name in keyof Members]: Members[Name] extends { readonly isOptional: true } ? Name : never
}[keyof Members]

type ObjectOf<Members> = Flat<
  RequiredMembers<Members, Exclude<keyof Members, OptionalIn<Members>>> &
    OptionalMembers<Members, OptionalIn<Members>>
>

/** Both types map over the keys of the shape itself, because the compiler copies doc comments only from there. */
type RequiredMembers<Members, Names extends keyof Members> = {
  readonly [Name in Names]: ValueOf<Members[Name]>
}
type OptionalMembers<Members, Names extends keyof Members> = {
  readonly [Name in Names]?: ValueOf<Members[Name]>
}

type Flat<Members> = { [Name in keyof Members]: Members[Name] } & {}

/** The read-only form of a type. JSON is read-only already, and its type nests without end. */
type ReadonlyDeep<Value> =
  IsJson<Value> extends true
    ? Value
    : Value extends ReadonlyArray<infer Member>
      ? ReadonlyArray<ReadonlyDeep<Member>>
      : Value extends object
        ? { readonly [Name in keyof Value]: ReadonlyDeep<Value[Name]> }
        : Value

/** True only for `Json` itself. A plain `extends` would also accept object types whose members are all optional. */
type IsJson<Value> =
  (<Any>() => Any extends Value ? 1 : 2) extends <Any>() => Any extends Json ? 1 : 2 ? true : false

/** The problem of a value that is not legal, or none. */
export function unless(isLegal: boolean, expected: string, value: unknown, path: string): FieldProblem[] {
  return isLegal ? [] : [{ path, message: wrong(expected, value) }]
}

/** The message about a value that is missing or not legal. */
export function wrong(expected: string, value: unknown): string {
  return value === undefined ? `is required: ${expected}` : `must be ${expected}, not ${shown(value)}`
}

const SHOWN_CHARACTERS = 80

/** A value as messages repeat it: a text up to 80 characters, a number in full, and only the kind of any other value. */
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

/** Whether a value is an object with members, thus no list and not null. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function inside(path: string, name: string | number): string {
  return path === '' ? String(name) : `${path}.${name}`
}

/** The path of a member some levels below `at`. */
export function joinPath(at: string, path: readonly string[]): string {
  return path.reduce(inside, at)
}
