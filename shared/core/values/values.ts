/**
 * The values that all other files handle: JSON values, records of values, and the error that says what is wrong with a value or an
 * operation.
 */

/** The closed set of codes. Expected outcomes, such as a conflict, are return values and have no code. */
export type ErrorCode =
  | 'invalid'
  | 'unknown-type'
  | 'too-large'
  | 'unstorable'
  | 'unreadable'
  | 'newer-schema'
  | 'contended'
  | 'unavailable'
  | 'misconfigured'
  | 'refused'

/** What is wrong with one field of an input: its dotted path, and what would be legal. */
export type FieldProblem = { readonly path: string; readonly message: string }

/**
 * Every error that Baton throws on purpose. Decide by `code`: messages are for people. `instanceof` also recognises the error of
 * another copy of this library.
 */
export class BatonError extends Error {
  static {
    recogniseAcrossCopies(BatonError, 'BatonError')
  }

  override readonly name = 'BatonError'
  readonly code: ErrorCode
  readonly problems: readonly FieldProblem[]

  constructor(
    code: ErrorCode,
    message: string,
    more: { cause?: unknown; problems?: readonly FieldProblem[] } = {},
  ) {
    super(message, 'cause' in more ? { cause: more.cause } : {})
    this.code = code
    this.problems = more.problems ?? []
  }
}

/** The error for a value, an option or a file that is not legal. */
export function illegal(message: string, more?: ConstructorParameters<typeof BatonError>[2]): BatonError {
  return new BatonError('invalid', message, more)
}

const ITEM_FAULTS: readonly ErrorCode[] = ['invalid', 'too-large', 'unstorable', 'unreadable', 'newer-schema']
const MISTAKES = [TypeError, RangeError, SyntaxError, ReferenceError]

/**
 * Whether an error is about the one item that a process works on: the given data, the stored data, or a mistake of the code in
 * handling it. The process can continue with the other items of a batch. Another try of this item at once would fail, too.
 */
export function isItemFault(error: unknown): boolean {
  if (error instanceof BatonError) return ITEM_FAULTS.includes(error.code)
  return MISTAKES.some(mistake => error instanceof mistake)
}

/** What a thrown value says. Code of others may throw anything. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Whether an error passes with time: a service did not answer, or other writers were faster for the whole allowed time. */
export function isOutage(error: unknown): boolean {
  return error instanceof BatonError && (error.code === 'unavailable' || error.code === 'contended')
}

// biome-ignore lint/suspicious/noExplicitAny: a class of any constructor
type Class = abstract new (...given: any[]) => object

/**
 * Makes `instanceof` recognise a class across copies of this library. A deployed handler throws the `Fatal` of the project's own
 * installation, and the prebuilt executor, which contains a copy of its own, asks whether it is one. Call it in a static block of
 * the class. A subclass recognises its own instances only.
 */
export function recogniseAcrossCopies(own: Class, name: string): void {
  const brand = Symbol.for(`baton-tasks.${name}`)
  Object.defineProperty(own.prototype, brand, { value: true })
  Object.defineProperty(own, Symbol.hasInstance, {
    value(this: unknown, value: unknown): boolean {
      if (this === own) return typeof value === 'object' && value !== null && brand in value
      return Function.prototype[Symbol.hasInstance].call(this, value)
    },
  })
}

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
    isJsonObject(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => compareTexts(one, other)))
      : member,
  )
}

export function isJsonObject(value: Json | undefined): value is { readonly [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The order of two texts by their UTF-16 units, as `sort` has it. */
export function compareTexts(one: string, other: string): number {
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

/** Groups items by a key, in the order of each key's first item. `Map.groupBy` would need Node 21, and users' tests run on Node 20. */
export function groupBy<Item, Key>(items: Iterable<Item>, keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** One item for each group: the items of the group, added up by `sum`. */
export function groupSums<Item>(
  items: Iterable<Item>,
  groupOf: (item: Item) => string,
  sum: (one: Item, other: Item) => Item,
): Item[] {
  return [...groupBy(items, groupOf).values()].map(group => group.reduce(sum))
}

/** The record with `change` applied to each member. */
export function eachMember<From, To>(
  record: Readonly<Record<string, From>>,
  change: (member: From, name: string) => To,
): Record<string, To> {
  return Object.fromEntries(Object.entries(record).map(([name, member]) => [name, change(member, name)]))
}

/** The members of the record that `isKept` accepts. */
export function membersWhere<Member>(
  record: Readonly<Record<string, Member>>,
  isKept: (member: Member, name: string) => boolean,
): Record<string, Member> {
  return Object.fromEntries(Object.entries(record).filter(([name, member]) => isKept(member, name)))
}
