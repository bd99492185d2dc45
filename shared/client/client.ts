import type { CanvasAnswer } from '../api/canvases.ts'
import type { ApiEvent } from '../api/events.ts'
import type { PublishAnswer, PublishBody, PublishResult } from '../api/publish.ts'
import type { Page } from '../api/scalars.ts'
import type { ApiTask, ListFilter } from '../api/tasks.ts'
import { BATCH_TASKS_MAX, REQUEST_BYTES_MAX } from '../core/bounds.ts'
import { escapedBytes, type Json, jsonBytes } from '../core/json.ts'
import type { AnyDefinition, InputOf, OutputOf } from '../define/any-definition.ts'
import type { Canvas, ResultOf } from '../define/canvases.ts'
import { type EventsOptions, followEvents } from './events.ts'
import { createOperations, type Operations } from './operations.ts'
import { type ClientSettings, createOpen, createSend, type Send } from './send.ts'
import { type ResultOptions, waitForResult } from './wait-for-result.ts'

type PublishOptions = Omit<PublishBody, 'type' | 'input'>

type CanvasOptions = {
  readonly key?: string
  /** How many of its tasks are published at a time. @default 25 */
  readonly sendConcurrency?: number
  readonly userId?: string
}

export type Client = Operations & {
  /**
   * Publishes a task: of a definition, of a type by its name (`publish<typeof resize>('resize', …)`), or as a body, such
   * as `resize.with(…)`. Or a canvas: what `chain`, `group` and `chord` return.
   */
  publish<D extends AnyDefinition>(
    definition: D,
    input: InputOf<D>,
    options?: PublishOptions,
  ): Promise<PublishAnswer>
  publish<D extends AnyDefinition>(
    type: string,
    input: InputOf<D>,
    options?: PublishOptions,
  ): Promise<PublishAnswer>
  publish(canvas: Canvas, options?: CanvasOptions): Promise<CanvasAnswer>
  publish(body: PublishBody): Promise<PublishAnswer>
  /** Publishes any number of tasks, each for itself; results in their order. */
  publishMany(bodies: readonly PublishBody[]): Promise<PublishResult[]>
  /** All tasks that a filter asks for, page by page as they are taken. */
  list(filter: ListFilter): AsyncGenerator<ApiTask, void, undefined>
  /**
   * What happens in the local system, as it happens; connections that break are opened anew, and nothing is lost. Ends when
   * `signal` aborts. @throws ProblemError when there is no answer at first, and where events go to EventBridge (501).
   */
  events(options?: EventsOptions): AsyncGenerator<ApiEvent, void, undefined>
  /** Waits for a task's end and returns its result, typed by its definition. @throws ProblemError otherwise. */
  result<D extends AnyDefinition>(definition: D, id: string, options?: ResultOptions): Promise<OutputOf<D>>
  result(type: string, id: string, options?: ResultOptions): Promise<unknown>
  /**
   * Waits for a canvas's end and returns its result, typed by the canvas where one is given; undefined when it is
   * too long for an answer (see `ApiCanvas`); `canvas` pages through the results of its tasks. @throws ProblemError otherwise.
   */
  canvasResult<C extends Canvas>(
    canvas: C | undefined,
    id: string,
    options?: ResultOptions,
  ): Promise<ResultOf<C>>
}

/**
 * What a batch must stay below: 4 MB, and as escaped text, as which it is in the event, what Lambda takes. The frame of
 * the event and its headers get the rest.
 */
const BATCH_BYTES = REQUEST_BYTES_MAX - 1_024
const BATCH_ESCAPED_BYTES = 6_000_000

/**
 * A client of the HTTP API. It works wherever `fetch` does. Every method throws `ProblemError` and nothing else when
 * the API refuses or does not answer.
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
    const answer = await send<{ results: PublishResult[] }>('POST', '/v1/tasks', { body: { tasks } })
    results.push(...answer.results)
  }
  return results
}

/** In runs that one request can carry. */
function* batchesOf(bodies: readonly PublishBody[]): Generator<PublishBody[], void, undefined> {
  let batch: PublishBody[] = []
  let bytes = 0
  let escaped = 0
  for (const body of bodies) {
    const json = body as unknown as Json
    bytes += jsonBytes(json) + 1
    escaped += escapedBytes(json) + 1
    const isFull = batch.length === BATCH_TASKS_MAX || bytes > BATCH_BYTES || escaped > BATCH_ESCAPED_BYTES
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
