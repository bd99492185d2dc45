import type { Dice } from '../generate/dice.ts'

/** What a caller sends to the API: a body or a query, or a part of one. */
export type RequestKind =
  | 'publish'
  | 'patch'
  | 'type'
  | 'claim'
  | 'schedule'
  | 'activity'
  | 'list'
  | 'task-id'
  | 'unknown-type'
  | 'priority'
  | 'stage'
  | 'delay'
  | 'type-name'
  | 'queue-name'
  | 'webhook-input'
  | 'canvas'
  | 'beat'
  | 'finish'
  | 'retry'
  | 'task-answer'

/** A request at a bound of the API. The bounds are those of the documents, and this file knows nothing of the code. */
export type BoundRequest = {
  readonly kind: RequestKind
  readonly body: unknown
  /** The field that must be refused. @default the request is legal */
  readonly refused?: string
  /** A part of the message about that field. */
  readonly says?: string
  readonly neverSays?: string
  /** Whether the published JSON Schema must refuse the body, too: it can express this bound. */
  readonly isInSchema?: true
}

export type Bound = (dice: Dice) => BoundRequest[]

export function text(length: number): string {
  return 'a'.repeat(length)
}

/** The body with a value at a dotted path. */
function withAt(base: object, path: string, value: unknown): Record<string, unknown> {
  const [first = '', ...rest] = path.split('.')
  const members = base as Record<string, unknown>
  const inner = rest.length > 0 ? withAt((members[first] ?? {}) as object, rest.join('.'), value) : value
  return { ...members, [first]: inner }
}

/** Legal and illegal values of one field. */
export function field(
  kind: RequestKind,
  base: object,
  path: string,
  legal: readonly unknown[],
  illegal: readonly unknown[],
): Bound {
  return () => [
    ...legal.map(value => ({ kind, body: withAt(base, path, value) })),
    ...illegal.map(value => ({ kind, body: withAt(base, path, value), refused: path })),
  ]
}

/** Values of one field whose bounds the published schema states, too. */
export function schemaField(...given: Parameters<typeof field>): Bound {
  return dice =>
    field(...given)(dice).map(one => (one.refused === undefined ? one : { ...one, isInSchema: true }))
}

function both(...bounds: readonly Bound[]): Bound {
  return dice => bounds.flatMap(bound => bound(dice))
}

export function texts(kind: RequestKind, base: object, path: string, most: number): Bound {
  return both(
    schemaField(kind, base, path, ['a', text(most)], ['', text(most + 1), 7]),
    field(kind, base, path, [], ['a\u0000', '\ud800']),
  )
}

export function numbers(kind: RequestKind, base: object, path: string, least: number, most: number): Bound {
  const half = most > Number.MAX_SAFE_INTEGER / 2 ? [] : [least + 0.5]
  return schemaField(kind, base, path, [least, most], [least - 1, most + 1, 'x', ...half])
}

export function words(kind: RequestKind, base: object, path: string, legal: readonly string[]): Bound {
  return schemaField(kind, base, path, legal, ['zzqqzzqq', '', 7, []])
}

export function flags(kind: RequestKind, base: object, path: string): Bound {
  return schemaField(kind, base, path, [true, false], ['true', 0, {}])
}

export function lists(
  kind: RequestKind,
  base: object,
  path: string,
  most: number,
  member: (nth: number) => unknown,
  least = 0,
): Bound {
  const list = (length: number) => Array.from({ length }, (_, nth) => member(nth))
  const tooFew = least > 0 ? [list(least - 1)] : []
  return schemaField(kind, base, path, [list(least), list(most)], [list(most + 1), ...tooFew, 'x'])
}
