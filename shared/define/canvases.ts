import { illegal } from '../core/values/values.ts'
import type { AnyDefinition, OutputOf } from './definitions.ts'
import type { Known, Signature, WithResult, Wrong } from './signature.ts'

/** Members that run one after the other. Each hands its result on to the next. */
interface Chain<Result = unknown> extends WithResult<Result> {
  /** The members, in their order. At least one. */
  readonly chain: readonly Member[]
}

/** Members that run side by side. */
interface Group<Result = unknown> extends WithResult<Result> {
  /** The members. At least one. */
  readonly group: readonly Member[]
}

/** Members that run side by side, and a callback that gets their results once all have succeeded. */
interface Chord<Result = unknown> extends WithResult<Result> {
  readonly chord: {
    /** The members that run side by side. At least one. */
    readonly group: readonly Member[]
    /** Runs once after all members have succeeded. */
    readonly then: Member
    /** Runs once in place of `then` after all members have ended, if one has failed. @default nothing runs */
    readonly onError?: Member
  }
}

/**
 * A canvas as `POST /v1/canvases` takes it. `Result` is the type of its result. Its forms are interfaces, because a compiler of version
 * 5 reads a circle of type aliases as `any`.
 */
export type Canvas<Result = unknown> = Chain<Result> | Group<Result> | Chord<Result>

type Member = Signature | Canvas

/** A member as callers give it. A definition stands for its signature without input. */
type Part = Member | AnyDefinition

/** Parts that fit: no definition that needs an input, and no member with unknown fields. */
type Fitting<Parts> = { readonly [Index in keyof Parts]: Parts[Index] & FittingPart<Parts[Index]> }

type FittingPart<One> = One extends AnyDefinition
  ? [] extends Parameters<One['with']>
    ? unknown
    : Wrong<`'${One['type']}' needs an input: give its signature by 'with'`>
  : One extends readonly unknown[]
    ? Fitting<One>
    : Known<One, keyof Signature | 'chain' | 'group' | 'chord'>

/** The type of the result of a canvas or of one member, as JSON gives it back. */
export type ResultOf<One> = One extends AnyDefinition
  ? OutputOf<One>
  : One extends WithResult<infer Result>
    ? Result
    : unknown

type LastOf<Parts> = Parts extends readonly [readonly unknown[]]
  ? LastOf<Parts[0]>
  : Parts extends readonly [...unknown[], infer Last]
    ? Last
    : Parts extends readonly unknown[]
      ? Parts[number]
      : never

type ResultsOf<Parts extends readonly unknown[]> = {
  -readonly [Index in keyof Parts]: ResultOf<Parts[Index]>
}

/**
 * Makes a canvas whose members run one after the other. Each member gets the result of the member before as
 * `ctx.previous`. If its input is an array, that result is appended to it as well. The canvas's result is the result of
 * its last member. The chain stops at the first failure.
 *
 * ```ts
 * await baton.publish(chain(fetch.with({ url }), resize.with({ width: 200 }), notify))
 * ```
 *
 * @throws BatonError `invalid` when it is empty.
 */
export function chain<const Parts extends ReadonlyArray<Part | readonly Part[]>>(
  ...parts: Fitting<Parts>
): Chain<ResultOf<LastOf<Parts>>> {
  return { chain: members(parts.flat() as Part[], 'chain') }
}

/**
 * Makes a canvas whose members run side by side. Its result is the array of its members' results, in their order.
 *
 * @throws BatonError `invalid` when it is empty.
 */
export function group<const Parts extends readonly Part[]>(parts: Fitting<Parts>): Group<ResultsOf<Parts>> {
  return { group: members(parts, 'group') }
}

/**
 * Makes a canvas whose members run side by side. When all have succeeded, `then` runs exactly once. It gets their results,
 * in the members' order, as `ctx.previous`. If its input is an array, the results are appended to it as well. The
 * canvas's result is the result of `then`. When a member has failed, `onError` runs in place of `then`, after
 * all members have ended. It gets `{ error, taskId }`.
 *
 * @throws BatonError `invalid` when the group is empty.
 */
export function chord<
  const Parts extends readonly Part[],
  const Then extends Part,
  const OnError extends Part = Part,
>(
  parts: Fitting<Parts>,
  then: Then & FittingPart<Then>,
  { onError }: { readonly onError?: OnError & FittingPart<OnError> } = {},
): Chord<ResultOf<Then>> {
  return {
    chord: {
      group: members(parts, "chord's group"),
      // biome-ignore lint/suspicious/noThenProperty: the API's own word; the value is not a function
      then: member(then),
      ...(onError && { onError: member(onError) }),
    },
  }
}

function members(parts: readonly Part[], what: string): Member[] {
  if (parts.length === 0) throw illegal(`a ${what} is empty; give at least one member`)
  return parts.map(member)
}

function member(part: Part): Member {
  return 'kind' in part ? (part as { with(): Signature }).with() : part
}
