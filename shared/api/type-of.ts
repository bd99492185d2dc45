import type * as z from 'zod'
import type { Json } from '../core/json.ts'

/**
 * The values that a schema accepts, all read-only. Unlike `z.infer` it keeps the doc comments on the members of an object's schema,
 * so that editors show them where the type is used.
 */
export type TypeOf<Schema> = Schema extends { _zod: { def: { type: 'object'; shape: infer Shape } } }
  ? ObjectOf<Shape>
  : Schema extends { _zod: { def: { type: 'array'; element: infer Element } } }
    ? ReadonlyArray<TypeOf<Element>>
    : Schema extends { _zod: { def: { type: 'optional'; innerType: infer Inner } } }
      ? TypeOf<Inner>
      : Schema extends z.ZodType<infer Value>
        ? Unwritable<Value>
        : never

type Optional = { _zod: { optout: 'optional' } }

type OptionalIn<Shape> = { [Name in keyof Shape]: Shape[Name] extends Optional ? Name : never }[keyof Shape]

type ObjectOf<Shape> = Flat<
  Required<Shape, Exclude<keyof Shape, OptionalIn<Shape>>> & Possible<Shape, OptionalIn<Shape>>
>

/** Mapped over the names of the shape itself, so that the compiler finds the comments there. */
type Required<Shape, Names extends keyof Shape> = { readonly [Name in Names]: TypeOf<Shape[Name]> }
type Possible<Shape, Names extends keyof Shape> = { readonly [Name in Names]?: TypeOf<Shape[Name]> }

type Flat<Members> = { [Name in keyof Members]: Members[Name] } & {}

/** The read-only form of a type. JSON is read-only already, and its type nests without end. */
type Unwritable<Value> =
  IsJson<Value> extends true
    ? Value
    : Value extends ReadonlyArray<infer Member>
      ? ReadonlyArray<Unwritable<Member>>
      : Value extends object
        ? { readonly [Name in keyof Value]: Unwritable<Value[Name]> }
        : Value

/** Whether it is that very type: an object whose members may all be missing can be assigned from it, too. */
type IsJson<Value> =
  (<Any>() => Any extends Value ? 1 : 2) extends <Any>() => Any extends Json ? 1 : 2 ? true : false
