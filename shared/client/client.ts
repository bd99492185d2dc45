/**
 * The typed client of the HTTP API. This file makes the client and holds the calls that need several requests.
 *
 * - `operations.ts`: the calls that are one request and one answer;
 * - `send.ts`: sends a request, and turns every failure into a `ProblemError` (`problem-error.ts`);
 * - `wait-for-result.ts`, `events.ts`, `paced-claims.ts`: waiting for an end, following events, delaying claims.
 */

import type { CanvasAnswer } from '../api/canvases.ts'
import type { ApiEvent } from '../api/events.ts'
import type { PublishAnswer, PublishBody, PublishResult } from '../api/publish.ts'
import type { Page } from '../api/scalars.ts'
import type { ApiTask, ListFilter } from '../api/tasks.ts'
import { BATCH_TASKS_MAX, REQUEST_BYTES_MAX } from '../core/bounds.ts'
import { escapedBytes, type Json, jsonBytes } from '../core/json.ts'
import type { AnyDefinition, OutputOf } from '../define/any-definition.ts'
import type { Canvas, ResultOf } from '../define/canvases.ts'
import type { NameOf, PublishArguments } from '../define/publishable.ts'
import { type EventsOptions, followEvents } from './events.ts'
import { createOperations, type Operations } from './operations.ts'
import { type ClientSettings, createOpen, createSend, type Send } from './send.ts'
import { type ResultOptions, waitForResult } from './wait-for-result.ts'

type PublishOptions = Omit<PublishBody, 'type' | 'input'>

type CanvasOptions = {
  /** The canvas's idempotency key: a second publish of the same key creates nothing. @default a new ULID */
  readonly key?: string
  /** How many of its tasks are published at a time. @default 25 */
  readonly sendConcurrency?: number
  /** The user of the tasks that name none of their own. @default none */
  readonly userId?: string
}

type ClientArguments<What> = [What] extends [Canvas]
  ? [What] extends [never]
    ? []
    : [options?: CanvasOptions]
  : PublishArguments<What, PublishOptions>

export type Client = Operations & {
  /**
   * Publishes a task or a canvas, given in one of these forms:
   *
   * - a definition, its input and options: `publish(resize, { width: 200 }, { key: 'img-1' })`;
   * - the name of a type, with or without the type of its definition: `publish<typeof resize>('resize', { width: 200 })`;
   * - a canvas, as `chain`, `group` and `chord` return it, and options: `publish(chain(…), { key: 'album-1' })`;
   * - a body, such as `resize.with({ width: 200 })` or `{ type: 'resize', input: { width: 200 } }`.
   *
   * A second publish of the same key creates nothing: its answer is the existing task, with `created: false`.
   */
  publish<What extends AnyDefinition | Canvas | string = never>(
    what: What | NameOf<What> | PublishBody,
    ...given: ClientArguments<What>
  ): Promise<[What] extends [never] ? PublishAnswer : [What] extends [Canvas] ? CanvasAnswer : PublishAnswer>
  /** Publishes any number of tasks independently. The results are in the order of `bodies`, each with its own status. */
  publishMany(bodies: readonly PublishBody[]): Promise<PublishResult[]>
  /** Yields all tasks that match a filter. It reads the next page when the caller has taken all tasks of the present one. */
  list(filter: ListFilter): AsyncGenerator<ApiTask, void, undefined>
  /**
   * Yields the events of the local system as they happen, until `signal` aborts. When a connection breaks, the client opens
   * another one and misses no event.
   *
   * @throws ProblemError when the first connection fails, and with status 501 for a deployed system, whose events go to
   * EventBridge.
   */
  events(options?: EventsOptions): AsyncGenerator<ApiEvent, void, undefined>
  /**
   * Waits for a task's end and returns its result, as JSON gives it back: typed by its definition, or `unknown` for a name. The type of
   * a definition is enough: `result<typeof resize>('resize', id)`.
   *
   * @throws ProblemError when the task failed or was cancelled (409), or did not end in time (408)
   */
  result<What extends AnyDefinition | string>(
    what: What | NameOf<What>,
    id: string,
    options?: ResultOptions,
  ): Promise<OutputOf<What>>
  /**
   * Waits for a canvas's end and returns its result, typed by `canvas` if that is given. The result is undefined when it is
   * too long for one answer (see `ApiCanvas`); then read the results of its tasks page by page with `canvas`.
   *
   * @throws ProblemError when the canvas failed or was cancelled (409), or did not end in time (408)
   */
  canvasResult<C extends Canvas>(
    canvas: C | undefined,
    id: string,
    options?: ResultOptions,
  ): Promise<ResultOf<C>>
}

/** Bytes of a batch's tasks: the API's limit of 4 MB, less 1 KB for the rest of the request. */
const BATCH_BYTES_MAX = REQUEST_BYTES_MAX - 1_024
/** Bytes of a batch as escaped text. Lambda's event holds the body in that form, and the event may have 6 MB (6,291,456 bytes). */
const BATCH_ESCAPED_BYTES_MAX = 6_000_000

/**
 * Creates a client of the HTTP API. It works wherever `fetch` does.
 *
 * ```ts
 * const baton = createClient({ url: 'http://127.0.0.1:7070' })
 * const { id } = await baton.publish(resize, { width: 200 })
 * const result = await baton.result(resize, id)
 * ```
 *
 * Every method throws `ProblemError`, and no other error, when the API refuses the request or does not answer.
 */
export function createClient(settings: ClientSettings): Client {
  const open = createOpen(settings)
  const send = createSend(open)
  const operations = createOperations(send)
  return {
    ...operations,
    publish: (what: Publishable, ...given: unknown[]) =>
      send<never>('POST', isCanvas(what) ? '/v1/canvases' : '/v1/tasks', { body: bodyOf(what, given) }),
    publishMany: bodies => publishMany(send, bodies),
    list: filter => list(send, filter),
    events: (options = {}) => followEvents(open, options),
    result: (_type: AnyDefinition | string, id: string, options: ResultOptions = {}) =>
      waitForResult(() => operations.get(id), options) as Promise<never>,
    canvasResult: (_canvas: Canvas | undefined, id: string, options: ResultOptions = {}) =>
      waitForResult(() => operations.canvas(id, { limit: 1 }), options) as Promise<never>,
  }
}

type Publishable = AnyDefinition | string | Canvas | PublishBody

function bodyOf(what: Publishable, given: readonly unknown[]): object {
  if (typeof what !== 'string' && !('kind' in what)) return { ...Object(given[0]), ...what }
  const [input, options] = given
  return { ...Object(options), type: typeof what === 'string' ? what : what.type, input }
}

function isCanvas(what: Publishable): what is Canvas {
  return typeof what === 'object' && ('chain' in what || 'group' in what || 'chord' in what)
}

async function publishMany(send: Send, bodies: readonly PublishBody[]): Promise<PublishResult[]> {
  const results: PublishResult[] = []
  for (const tasks of batchesOf(bodies)) {
    const answer = await send<{ results: PublishResult[] }>('POST', '/v1/tasks/batch', { body: { tasks } })
    results.push(...answer.results)
  }
  return results
}

/** Splits the bodies into batches that fit one request each. */
function* batchesOf(bodies: readonly PublishBody[]): Generator<PublishBody[], void, undefined> {
  let batch: PublishBody[] = []
  let bytes = 0
  let escaped = 0
  for (const body of bodies) {
    const json = body as unknown as Json
    bytes += jsonBytes(json) + 1
    escaped += escapedBytes(json) + 1
    const isFull =
      batch.length === BATCH_TASKS_MAX || bytes > BATCH_BYTES_MAX || escaped > BATCH_ESCAPED_BYTES_MAX
    if (isFull && batch.length > 0) {
      yield batch
      batch = []
      bytes = jsonBytes(json)
      escaped = escapedBytes(json)
    }
    batch.push(body)
  }
  if (batch.length > 0) yield batch
}

async function* list(send: Send, filter: ListFilter): AsyncGenerator<ApiTask, void, undefined> {
  let { cursor } = filter
  do {
    const page = await send<Page<ApiTask>>('GET', '/v1/tasks', { query: { ...filter, cursor } })
    yield* page.items
    cursor = page.nextCursor
  } while (cursor !== undefined)
}
