import type * as z from 'zod'
import type { Json } from '../core/json.ts'

/**
 * The type of the values that a schema accepts, read-only at every depth. Unlike `z.infer` it keeps the doc comments on the
 * members of an object's schema, so that editors show them where the type is used.
 */
export type TypeOf<Schema> = Schema extends { _zod: { def: { type: 'object'; shape: infer Shape } } }
  ? ObjectOf<Shape>
  : Schema extends { _zod: { def: { type: 'array'; element: infer Element } } }
    ? ReadonlyArray<TypeOf<Element>>
    : Schema extends { _zod: { def: { type: 'optional'; innerType: infer Inner } } }
      ? TypeOf<Inner>
      : Schema extends z.ZodType<infer Value>
        ? ReadonlyDeep<Value>
        : never

type Optional = { _zod: { optout: 'optional' } }

type OptionalIn<Shape> = { [Name in keyof Shape]: Shape[Name] extends Optional ? Name : never }[keyof Shape]

type ObjectOf<Shape> = Flat<
  RequiredMembers<Shape, Exclude<keyof Shape, OptionalIn<Shape>>> & OptionalMembers<Shape, OptionalIn<Shape>>
>

/** Both types map over the keys of the shape itself, because the compiler copies doc comments only from there. */
type RequiredMembers<Shape, Names extends keyof Shape> = { readonly [Name in Names]: TypeOf<Shape[Name]> }
type OptionalMembers<Shape, Names extends keyof Shape> = { readonly [Name in Names]?: TypeOf<Shape[Name]> }

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
