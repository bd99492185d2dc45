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
