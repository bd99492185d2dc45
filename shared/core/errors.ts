/** The closed set of things that go wrong beyond expected outcomes (those are return values). */
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

/** What is wrong with one field of an input: where (dotted path) and what would be legal. */
export type FieldProblem = { readonly path: string; readonly message: string }

/** Every error Baton throws on purpose. Look at `code`; messages are for people. */
export class BatonError extends Error {
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

const OF_ONE: readonly ErrorCode[] = ['invalid', 'too-large', 'unstorable', 'unreadable', 'newer-schema']
const MISTAKES = [TypeError, RangeError, SyntaxError, ReferenceError]

/**
 * Whether an error is about the one item that was worked on: what was to be stored or what is stored is at fault, or the code
 * is at odds with it. The others of a batch can be worked on, and trying this one again at once is of no use.
 */
export function isItemFault(error: unknown): boolean {
  if (error instanceof BatonError) return OF_ONE.includes(error.code)
  return MISTAKES.some(mistake => error instanceof mistake)
}

/** Whether an error passes by itself: the store does not answer, or other writers were faster for the whole time allowed. */
export function isOutage(error: unknown): boolean {
  return error instanceof BatonError && (error.code === 'unavailable' || error.code === 'contended')
}
