import type { Item } from './stored-form.ts'

/** This file says how single values are stored. `attributes.ts` combines codecs into tables of attributes. */

export type Codec<T, S> = {
  readonly encode: (value: T) => S
  readonly decode: (stored: S) => T
}

/** A codec that recognises the form of its values. */
export type CheckedCodec<T, S> = Codec<T, S> & { readonly fits: (stored: unknown) => boolean }

/** What a codec stores. */
export type StoredBy<C extends { readonly encode: (value: never) => unknown }> = ReturnType<C['encode']>

export const number: CheckedCodec<number, number> = { ...asIs<number>(), fits: Number.isFinite }

export const text: CheckedCodec<string, string> = word<string>()

/** One of a closed set of words. */
export function word<W extends string>(): CheckedCodec<W, W> {
  return { ...asIs<W>(), fits: stored => typeof stored === 'string' }
}

/** A boolean that is stored only while it is true. */
export const flag: Codec<true, true> = asIs<true>()

/** One of two words as a flag. The other word is the default of the row. */
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

/** Whether a stored value is a map. */
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
