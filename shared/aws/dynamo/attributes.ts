import type { Item } from './documents.ts'

/**
 * Tables of stored attributes. Each kind of record, such as a task or a run, has one table with a row for each member:
 *
 *     const RUN = attributesOf<Run>()({
 *       workerId: always('by', text),
 *       endedAt: optional('end', number),
 *       attempts: withDefault('n', number, 0),
 *     })
 *
 * A row names the attribute and the codec of its value. It also says when the attribute is left out, since each write costs the
 * size of the item. From the table follow how a record is written and read, the type of its stored form, which attributes every
 * stored record has, and which maps a change writes key by key.
 *
 * The compiler refuses a table that lacks a member of its record. Functions next to the table handle what is not a row: an
 * attribute of several members, and a member of several attributes.
 */

/** How a change writes a map that has entries before and after it. */
export type MapPaths = {
  /** How many levels of keys are paths of their own. */
  readonly levels: number
  /** When more entries than this differ, the map is written whole. */
  readonly differingMax?: number
}

type Presence = 'always' | 'optional' | 'default'

type Row<N, T, S, P extends Presence> = {
  readonly name: N
  readonly codec: P extends 'always' ? CheckedCodec<T, S> : Codec<T, S>
  readonly presence: P
  /** The value of the member when its attribute is missing. */
  readonly absent?: T
  readonly isLeftOut?: (value: T) => boolean
  readonly paths?: MapPaths
}

/** A member that each record has, in an attribute that each item has. */
export function always<const N extends string, T, S>(
  name: N,
  codec: CheckedCodec<T, S>,
): Row<N, T, S, 'always'> {
  return { name, codec, presence: 'always' }
}

/** A member that some records have. */
export function optional<const N extends string, T, S>(
  name: N,
  codec: Codec<T, S>,
): Row<N, T, S, 'optional'> {
  return { name, codec, presence: 'optional' }
}

/** A member that each record has. Its attribute is left out for the value `absent`, which the codec need not know. */
export function withDefault<const N extends string, T, S, const D>(
  name: N,
  codec: Codec<T, S>,
  absent: D,
): Row<N, T | D, S, 'default'> {
  const widerCodec = codec as Codec<T | D, S>
  return { name, codec: widerCodec, presence: 'default', absent, isLeftOut: value => value === absent }
}

/** A map that each record has. Its attribute is left out for an empty map: a later write to a missing map writes it whole. */
export function mapped<const N extends string, T, S>(
  name: N,
  codec: Codec<Readonly<Record<string, T>>, S>,
  paths?: MapPaths,
): Row<N, Readonly<Record<string, T>>, S, 'default'> {
  const isLeftOut = (map: object) => Object.keys(map).length === 0
  return { name, codec, presence: 'default', absent: {}, isLeftOut, ...(paths && { paths }) }
}

type RowFor<T, P> = {
  readonly name: string
  readonly codec: { readonly encode: (value: T) => unknown; readonly decode: (stored: never) => T }
  readonly presence: P
}
type RowsFor<R> = {
  readonly [M in keyof R]-?: object extends Pick<R, M>
    ? RowFor<Exclude<R[M], undefined>, 'optional'>
    : RowFor<R[M], 'always' | 'default'>
}

type NameIf<Row, P> = Row extends { readonly name: infer N extends string; readonly presence: P } ? N : never
type StoredIn<Row> = Row extends { readonly codec: { readonly encode: (value: never) => infer S } }
  ? S
  : never
/** The stored form of the records of a table. */
type Stored<Rows> = {
  readonly [M in keyof Rows as NameIf<Rows[M], 'always'>]: StoredIn<Rows[M]>
} & { readonly [M in keyof Rows as NameIf<Rows[M], 'optional' | 'default'>]?: StoredIn<Rows[M]> }

export type Attributes<R, S> = CheckedCodec<R, S> & {
  /** Returns the first attribute that every stored record has, and that this one lacks or holds in another form. */
  readonly oddAttribute: (stored: Item) => string | undefined
  /** The attributes that a change writes key by key. */
  readonly paths: Readonly<Record<string, MapPaths>>
}

/** The table of the records `R`. It is their codec. */
export function attributesOf<R extends object>() {
  return <Rows extends RowsFor<R>>(
    rows: Rows & Readonly<Record<Exclude<keyof Rows, keyof R>, never>>,
  ): Attributes<R, Stored<Rows>> => {
    const entries = Object.entries(rows as unknown as Readonly<Record<string, AnyRow>>)
    const needed = entries.map(([, row]) => row).filter(row => row.presence === 'always')
    const oddAttribute = (stored: Item) => needed.find(({ name, codec }) => !codec.fits(stored[name]))?.name
    return {
      encode: record => encoded(entries, record) as Stored<Rows>,
      decode: stored => decoded(entries, stored) as R,
      fits: stored => isMap(stored) && oddAttribute(stored) === undefined,
      oddAttribute,
      paths: Object.fromEntries(entries.flatMap(([, { name, paths }]) => (paths ? [[name, paths]] : []))),
    }
  }
}

/** A row without the types of its values. Only rows of the presence `always` use `fits`. */
type AnyRow = Omit<Row<string, unknown, unknown, Presence>, 'codec'> & {
  readonly codec: CheckedCodec<unknown, unknown>
}
type Entries = ReadonlyArray<readonly [member: string, row: AnyRow]>

function encoded(entries: Entries, record: object): Item {
  const item: Record<string, unknown> = {}
  for (const [member, { name, codec, isLeftOut }] of entries) {
    const value = (record as Item)[member]
    if (value === undefined || isLeftOut?.(value)) continue
    item[name] = codec.encode(value)
  }
  return item
}

function decoded(entries: Entries, stored: object): object {
  const record: Record<string, unknown> = {}
  for (const [member, { name, codec, presence, absent }] of entries) {
    const value = (stored as Item)[name] ?? undefined
    const read = value === undefined && presence !== 'always' ? absent : codec.decode(value)
    if (read !== undefined) record[member] = read
  }
  return record
}

/** How a single value is stored. */
export type Codec<T, S> = {
  readonly encode: (value: T) => S
  readonly decode: (stored: S) => T
}

/** A codec that recognises the form of its values. */
export type CheckedCodec<T, S> = Codec<T, S> & { readonly fits: (stored: unknown) => boolean }

export type StoredBy<C extends { readonly encode: (value: never) => unknown }> = ReturnType<C['encode']>

export const number: CheckedCodec<number, number> = { ...asIs<number>(), fits: Number.isFinite }

export const text: CheckedCodec<string, string> = literal<string>()

/** One of a closed set of texts. */
export function literal<W extends string>(): CheckedCodec<W, W> {
  return { ...asIs<W>(), fits: stored => typeof stored === 'string' }
}

/** A boolean that is stored only while it is true. */
export const flag: Codec<true, true> = asIs<true>()

/** One of two texts as a flag. The other text is the default of the row. */
export function flagFor<W extends string>(value: W): Codec<W, true> {
  return { encode: () => true, decode: () => value }
}

/** A value that is stored as it is. */
export function asIs<T>(): Codec<T, T> {
  return { encode: value => value, decode: stored => stored }
}

/** Stores values of users as JSON text, because maps of DynamoDB would lose lone surrogates and a key `__proto__`. */
export function json<T>(): Codec<T, string> {
  return { encode: value => JSON.stringify(value), decode: stored => JSON.parse(stored) as T }
}

/** A map with one codec for all its values. */
export function mapOf<T, S>({
  encode,
  decode,
}: Codec<T, S>): Codec<Readonly<Record<string, T>>, Readonly<Record<string, S>>> {
  return { encode: map => mapValues(map, encode), decode: map => mapValues(map, decode) }
}

export function mapValues<T, S>(
  map: Readonly<Record<string, T>>,
  to: (value: T, key: string) => S,
): Record<string, S> {
  return Object.fromEntries(Object.entries(map).map(([key, value]) => [key, to(value, key)]))
}

export function isMap(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

type Alternative<U, K> = Omit<Extract<U, { readonly kind: K }>, 'kind'>
type CodecsOf<U extends { readonly kind: string }> = {
  readonly [K in U['kind']]: {
    readonly encode: (value: Alternative<U, K>) => unknown
    readonly decode: (stored: never) => Alternative<U, K>
    readonly fits: (stored: unknown) => boolean
  }
}

/** Alternatives by `kind`, which is not stored. A value is read by the first codec that its form fits, or else by the last one. */
export function oneOf<U extends { readonly kind: string }>() {
  return <Codecs extends CodecsOf<U>>(codecs: Codecs): Codec<U, StoredBy<Codecs[U['kind']]>> => {
    type Kind = U['kind']
    const byKind = codecs as unknown as Readonly<Record<Kind, CheckedCodec<U, StoredBy<Codecs[Kind]>>>>
    const kinds = Object.keys(codecs) as Kind[]
    const kindOf = (stored: unknown) =>
      (kinds.find(kind => byKind[kind].fits(stored)) ?? kinds.at(-1)) as Kind
    return {
      encode: value => byKind[value.kind as Kind].encode(value),
      decode: stored => {
        const kind = kindOf(stored)
        return { ...byKind[kind].decode(stored), kind }
      },
    }
  }
}
