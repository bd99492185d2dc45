import type { DerivedBody } from '../api/publish.ts'
import type { Json } from '../core/values/values.ts'

declare const RESULT: unique symbol

/** Carries the type of a result for the compiler. No value has this member. */
export interface WithResult<Result> {
  readonly [RESULT]?: Result
}

/** Publish options of a task of a canvas. There is no `key`, because the canvas makes the keys of its tasks. */
export type SignatureOptions = Omit<DerivedBody, 'type' | 'input' | 'key'>

/** A task that is not yet published: its type, input and options. It is a publish body and can be a member of a canvas. */
export interface Signature<Result = unknown> extends SignatureOptions, WithResult<Result> {
  /** The name of the task type. */
  readonly type: string
  /** The task's input. */
  readonly input?: Json
}

/**
 * The arguments of a task definition's `with`. When the input is a tuple, elements that earlier tasks of a canvas hand on may be
 * left out: give `[4]` for an input of `[number, number]`.
 */
export type WithArguments<Input> = Arguments<Input, GivenInput<Input>, SignatureOptions>

/** An input and options. The input may be left out when it may be undefined. `Input` decides this, and `Given` is its type. */
export type Arguments<Input, Given, Options> =
  MayBeLeftOut<Input> extends true ? [input?: Given, options?: Options] : [input: Given, options?: Options]

/** Without `strict` the compiler takes undefined for a member of every type. Then only an input without required members may be left out. */
type MayBeLeftOut<Input> = undefined extends Input
  ? undefined extends string
    ? // biome-ignore lint/complexity/noBannedTypes: whatever has no required members
      {} extends Input
      ? true
      : false
    : true
  : false

/**
 * What the caller gives: the whole input, or only its first elements when earlier results are appended to them. An error callback
 * gets the error message as its first element, so its caller gives all elements but the first.
 */
type GivenInput<Input> =
  | Input
  | Beginnings<Input>
  | (Input extends readonly [unknown, ...infer Others] ? Others : never)

type Beginnings<Input> = Input extends readonly [...infer Beginning, unknown]
  ? Beginning | Beginnings<Beginning>
  : never

/** Makes the signature of a task of `type`: plain data, as the API takes it. */
export function signatureOf<Result>(
  type: string,
  input: unknown,
  options: SignatureOptions = {},
): Signature<Result> {
  return { ...options, type, ...(input !== undefined && { input: input as Json }) }
}

/** The error messages that the compiler shows for what no plain type can refuse. */

declare const PROBLEM: unique symbol

/**
 * A type that no value has. The compiler prints it when a value stands in its place, so `Problem` says what is wrong, and `Fields` which
 * fields are concerned.
 */
export interface Wrong<Problem extends string, Fields extends string = never> {
  readonly [PROBLEM]: readonly [Problem, Fields]
}

/** Refuses the members of an object whose names are not known. The compiler itself accepts them where it infers a type. */
export type Known<Given, Names> = {
  readonly [Name in Exclude<keyof Given, Names>]: Wrong<`'${Name & string}' is not a field here`>
}
