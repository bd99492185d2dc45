import { BatonError } from '../core/errors.ts'
import type { AnyDefinition, OutputOf } from './any-definition.ts'
import type { Signature, WithResult } from './signature.ts'

/** Tasks one after the other, each handing its result on. */
type Chain<Result = unknown> = { readonly chain: readonly Member[] } & WithResult<Result>

/** Tasks side by side. */
type Group<Result = unknown> = { readonly group: readonly Member[] } & WithResult<Result>

/** Tasks side by side, and one for what they come to, once all of them are done. */
type Chord<Result = unknown> = {
  readonly chord: { readonly group: readonly Member[]; readonly then: Member; readonly onError?: Member }
} & WithResult<Result>

/** What `POST /v1/canvases` takes, typed by what it comes to. */
export type Canvas<Result = unknown> = Chain<Result> | Group<Result> | Chord<Result>

type Member = Signature | Canvas

/** A definition whose tasks need no input: it stands for its signature. */
type Bare = Pick<AnyDefinition, 'kind' | 'type'> & { with(): Signature }

type Part = Member | Bare

/** What a canvas or a member of one comes to. */
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
 * A canvas whose members run one after the other. Each gets the value of the one before as `ctx.previous`, and when its
 * input is an array, as one more argument at its end. Its result is that of its last member; it stops at the first
 * failure.
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
 * A canvas whose members run side by side. Its result is the array of theirs, in their order.
 *
 * @throws BatonError `invalid` when it is empty.
 */
export function group<const Parts extends readonly Part[]>(parts: Parts): Group<ResultsOf<Parts>> {
  return { group: members(parts, 'group') }
}

/**
 * A canvas whose members run side by side, and then `then`, once. That gets their results as `ctx.previous`, and when its
 * input is an array, as so many arguments at its end; its result is the canvas's. When a member failed, `onError` runs in
 * its place, once all have ended, with `{ error, taskId }`.
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
      // biome-ignore lint/suspicious/noThenProperty: the API's own word, and no function
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
