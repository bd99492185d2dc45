import type { DerivedBody } from '../api/publish.ts'
import type { Json } from '../core/json.ts'

declare const RESULT: unique symbol

/** What something comes to, for the compiler alone: no value has this member. */
export type WithResult<Result> = { readonly [RESULT]?: Result }

/** How a task within a canvas is published; its key is made by its canvas. */
export type SignatureOptions = Omit<DerivedBody, 'type' | 'input' | 'key'>

/** A task to be published: a type, its input and options. A publish body, and a member of canvases. */
export type Signature<Result = unknown> = SignatureOptions & {
  readonly type: string
  readonly input?: Json
} & WithResult<Result>

/**
 * What `with` takes. Of an input that is a tuple, the arguments that the tasks before hand on are left out: `[4]` where
 * `[number, number]` is taken.
 */
export type WithArguments<Input> = undefined extends Input
  ? [input?: Given<Input>, options?: SignatureOptions]
  : [input: Given<Input>, options?: SignatureOptions]

/** What tasks of a canvas hand on is put after what is given; the message of an error is put before it. */
type Given<Input> =
  | Input
  | Beginnings<Input>
  | (Input extends readonly [unknown, ...infer Others] ? Others : never)

type Beginnings<Input> = Input extends readonly [...infer Beginning, unknown]
  ? Beginning | Beginnings<Beginning>
  : never

/** The signature of a task of `type`: plain data, as the API takes it. */
export function signatureOf<Result>(
  type: string,
  input: unknown,
  options: SignatureOptions = {},
): Signature<Result> {
  return { ...options, type, ...(input !== undefined && { input: input as Json }) }
}
