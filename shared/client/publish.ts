import type { CanvasAnswer } from '../api/canvases.ts'
import { targetOf } from '../api/endpoints.ts'
import type { PublishAnswer, PublishBody } from '../api/publish.ts'
import type { ApiTask } from '../api/tasks.ts'
import type { Canvas, ResultOf } from '../define/canvases.ts'
import type { AnyDefinition, OutputOf, PublishArguments } from '../define/definitions.ts'
import { bodyOf, inputProblems, isCanvas, textOf } from '../define/publishable.ts'
import type { Operations } from './operations.ts'
import { clientProblem } from './problem-error.ts'
import { newKey } from './repetition.ts'
import type { CallOptions, Send } from './send.ts'
import { type ResultOptions, waitForResult } from './wait-for-result.ts'

export type PublishOptions = Omit<PublishBody, 'type' | 'input'>

type CanvasOptions = {
  /** The canvas's idempotency key: a second publish of the same key creates nothing. @default a new ULID */
  readonly key?: string
  /** How many of its tasks are published at a time. @default 25 */
  readonly sendConcurrency?: number
  /** The user of the tasks that name none of their own. @default none */
  readonly userId?: string
}

/** The arguments of `publish` after what is published, without the options of the call. */
export type ClientArguments<What> = [What] extends [Canvas]
  ? [What] extends [never]
    ? []
    : [options?: CanvasOptions]
  : PublishArguments<What, PublishOptions>

/** What the API answers to a publish. */
export type AnswerTo<What> = [What] extends [never]
  ? PublishAnswer
  : [What] extends [Canvas]
    ? CanvasAnswer
    : PublishAnswer

/** A published task or canvas: the answer of the API, and what may be done with it. */
export type Published<What> = [What] extends [never]
  ? TaskHandle<unknown>
  : [What] extends [Canvas]
    ? CanvasHandle<ResultOf<What>>
    : TaskHandle<OutputOf<What>>

/** A task that was published or that had the key already. `created` says which. */
export type TaskHandle<Result> = PublishAnswer & {
  /** Waits for the end of the task and returns its result: see `client.result`. */
  result(options?: ResultOptions): Promise<Result>
  /** Stops the task and keeps its record: see `client.cancel`. */
  cancel(call?: CallOptions): Promise<ApiTask>
}

/** A canvas that was published or that had the key already. `created` says which. */
export type CanvasHandle<Result> = CanvasAnswer & {
  /** Waits for the end of the canvas and returns its result: see `client.canvasResult`. */
  result(options?: ResultOptions): Promise<Result>
  /** Cancels the canvas and its open tasks: see `client.cancelCanvas`. */
  cancel(call?: CallOptions): Promise<Awaited<ReturnType<Operations['cancelCanvas']>>>
}

/** Publishes what the caller gave: a canvas with options, a body, or a type with input and options. The options of the call come last. */
export async function publishAny(
  send: Send,
  operations: Operations,
  what: AnyDefinition | string | Canvas | PublishBody,
  given: readonly unknown[],
): Promise<TaskHandle<unknown> | CanvasHandle<unknown>> {
  if (isCanvas(what)) {
    const [options, call] = given
    return publishCanvas(send, operations, { ...Object(options), ...what }, call as CallOptions)
  }
  if (typeof what === 'object' && !('kind' in what))
    return publishTask(send, operations, what, given[0] as CallOptions)
  const [input, , call] = given
  if (typeof what === 'object') await refuseInput(what, input)
  return publishTask(send, operations, bodyOf(what, given) as PublishBody, call as CallOptions)
}

async function publishTask(
  send: Send,
  operations: Operations,
  given: PublishBody,
  call: CallOptions | undefined,
): Promise<TaskHandle<unknown>> {
  const body = withKey(given)
  const ask = { body, call, isRepeatable: isRepeatable(body) }
  const answer = await send<PublishAnswer>(targetOf('publish'), ask)
  const { id } = answer
  return {
    ...answer,
    // No other publish has a key that was made for this one. The API says false if an earlier try has created the task.
    created: answer.created || given.key !== body.key,
    result: (options = {}) => waitForResult(read => operations.get(id, read), options),
    cancel: how => operations.cancel(id, how),
  }
}

async function publishCanvas(
  send: Send,
  operations: Operations,
  given: CanvasOptions,
  call: CallOptions | undefined,
): Promise<CanvasHandle<unknown>> {
  const key = given.key ?? newKey()
  const ask = { body: { ...given, key }, call, isRepeatable: true }
  const answer = await send<CanvasAnswer>(targetOf('publishCanvas'), ask)
  const { id } = answer
  return {
    ...answer,
    created: answer.created || given.key === undefined,
    result: (options = {}) => waitForResult(read => operations.canvas(id, { limit: 1 }, read), options),
    cancel: how => operations.cancelCanvas(id, how),
  }
}

/**
 * The body with a key of its own if it has none, so that it may be sent again. `debounce` and `throttle` need a key of the caller, and the
 * API says so.
 */
export function withKey(body: PublishBody): PublishBody {
  const isKeyed = body.key !== undefined || body.debounce !== undefined || body.throttle !== undefined
  return isKeyed ? body : { ...body, key: newKey() }
}

/**
 * Whether a second publish of the body changes nothing. With `reject` or `restart` it may meet the task that the first one started, and
 * with `debounce` or `throttle` it counts as a publish of its own.
 */
export function isRepeatable({ key, ifExists, debounce, throttle }: PublishBody): boolean {
  return key !== undefined && ifExists !== 'reject' && ifExists !== 'restart' && !debounce && !throttle
}

/**
 * Checks an input by the definition's schema. The input itself is sent, not what the schema makes of it: the handler's process parses it
 * again, and a schema that transforms would not accept its own result.
 *
 * @throws ProblemError `invalid`, as the API refuses: `problem.errors` names each wrong field.
 */
export async function refuseInput({ type, input: schema }: AnyDefinition, input: unknown): Promise<void> {
  const errors = await inputProblems(schema, input)
  if (!errors) return
  const detail = `the input does not fit ${type}: ${textOf(errors)}`
  throw clientProblem('invalid', { title: 'The request is not valid', status: 400, detail, errors })
}
