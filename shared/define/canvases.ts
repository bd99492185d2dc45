import { BatonError } from '../core/errors.ts'
import type { AnyDefinition, OutputOf } from './any-definition.ts'
import type { Signature, WithResult } from './signature.ts'

/** Members that run one after the other. Each hands its result on to the next. */
type Chain<Result = unknown> = { readonly chain: readonly Member[] } & WithResult<Result>

/** Members that run side by side. */
type Group<Result = unknown> = { readonly group: readonly Member[] } & WithResult<Result>

/** Members that run side by side, and a callback that gets their results once all have succeeded. */
type Chord<Result = unknown> = {
  readonly chord: { readonly group: readonly Member[]; readonly then: Member; readonly onError?: Member }
} & WithResult<Result>

/** A canvas as `POST /v1/canvases` takes it. `Result` is the type of its result. */
export type Canvas<Result = unknown> = Chain<Result> | Group<Result> | Chord<Result>

type Member = Signature | Canvas

/** A definition whose tasks need no input. As a member it stands for its signature without input. */
type WithoutInput = Pick<AnyDefinition, 'kind' | 'type'> & { with(): Signature }

type Part = Member | WithoutInput

/** The type of the result of a canvas or of one member. */
export type ResultOf<One> = One extends AnyDefinition
  ? OutputOf<One>
  : One extends WithResult<infer Result>
    ? Result
    : unknown

type LastOf<Parts extends readonly unknown[]> = Parts extends readonly [...unknown[], infer Last]
  ? Last
  : Parts[number]

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
export function chain<const Parts extends readonly Part[]>(parts: Parts): Chain<ResultOf<LastOf<Parts>>>
export function chain<const Parts extends readonly Part[]>(...parts: Parts): Chain<ResultOf<LastOf<Parts>>>
export function chain(...given: ReadonlyArray<Part | readonly Part[]>): Chain {
  return { chain: members(given.flat(), 'chain') }
}

/**
 * Makes a canvas whose members run side by side. Its result is the array of its members' results, in their order.
 *
 * @throws BatonError `invalid` when it is empty.
 */
export function group<const Parts extends readonly Part[]>(parts: Parts): Group<ResultsOf<Parts>> {
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
export function chord<const Parts extends readonly Part[], const Then extends Part>(
  parts: Parts,
  then: Then,
  { onError }: { readonly onError?: Part } = {},
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
  if (parts.length === 0) throw new BatonError('invalid', `a ${what} is empty; give at least one member`)
  return parts.map(member)
}

function member(part: Part): Member {
  return 'kind' in part ? part.with() : part
}
