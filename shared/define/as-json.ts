import type { Json } from '../core/values/json.ts'

/**
 * The type of a value after it was stored as JSON, as every reader of a result gets it: a `Date` is text, a member that may be
 * undefined may be missing, and whatever defines `toJSON` is what that returns. A value that cannot be stored is `never`: a bigint,
 * a symbol, a function, a `Map`, a `Set`, bytes. A run that returns one fails. `any` and `unknown` stay what they are.
 */
export type AsJson<Value> = unknown extends Value
  ? Value
  : [Value] extends [Json]
    ? Value
    : Value extends void
      ? undefined
      : Value extends Scalar
        ? Value
        : Value extends { toJSON(): infer Written }
          ? AsJson<Written>
          : Value extends Unstorable
            ? never
            : Value extends readonly unknown[]
              ? { [Index in keyof Value]: AsJson<Value[Index]> }
              : MembersAsJson<Value>

type Scalar = string | number | boolean | null

type Unstorable =
  | bigint
  | symbol
  | ((...given: never) => unknown)
  // biome-ignore lint/suspicious/noExplicitAny: a map or a set of anything
  | ReadonlyMap<any, any>
  // biome-ignore lint/suspicious/noExplicitAny: as above
  | ReadonlySet<any>
  | ArrayBuffer
  | ArrayBufferView

type MembersAsJson<Value> = Flat<
  { [Name in keyof Value as Kept<Value, Name, 'always'>]: AsJson<Value[Name]> } & {
    [Name in keyof Value as Kept<Value, Name, 'sometimes'>]?: AsJson<Exclude<Value[Name], undefined>>
  }
>

/** The name, if the member is stored always or sometimes. Members under symbols are never stored. */
type Kept<Value, Name extends keyof Value, When extends 'always' | 'sometimes'> = Name extends symbol
  ? never
  : When extends (IsSometimesUndefined<Value[Name]> extends true ? 'sometimes' : 'always')
    ? Name
    : never

type IsSometimesUndefined<Member> = unknown extends Member ? false : undefined extends Member ? true : false

type Flat<Members> = { [Name in keyof Members]: Members[Name] } & {}
