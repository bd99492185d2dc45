import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { TaskDefinition } from '../define-task.ts'
import type { ApiTask, ListFilter, Page, PublishAnswer, PublishBody, PublishResult } from './api-types.ts'
import { createOperations, type Operations } from './operations.ts'
import { type ClientSettings, createSend, type Send } from './send.ts'
import { type ResultOptions, waitForResult } from './wait-for-result.ts'

/** Any definition; a caller may know it by its type alone (`import type`), and then bundles no handler. */
// biome-ignore lint/suspicious/noExplicitAny: what a handler takes says nothing about who may publish to it
type AnyDefinition = TaskDefinition<any, any, any>

type InputOf<D extends AnyDefinition> =
  NonNullable<D['input']> extends StandardSchemaV1<infer Input, unknown> ? Input : unknown

type OutputOf<D extends AnyDefinition> =
  D extends TaskDefinition<infer _Input, infer Output> ? Output : unknown

type PublishOptions = Omit<PublishBody, 'type' | 'input'>

export type Client = Operations & {
  /** Publishes a task: of a definition, of a type by its name (`publish<typeof resize>('resize', …)`), or as a body. */
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
  publish(body: PublishBody): Promise<PublishAnswer>
  /** Publishes any number of tasks, each for itself; results in their order. */
  publishMany(bodies: readonly PublishBody[]): Promise<PublishResult[]>
  /** All tasks that a filter asks for, page by page as they are taken. */
  list(filter: ListFilter): AsyncGenerator<ApiTask, void, undefined>
  /** Waits for a task's end and returns its result, typed by its definition. @throws ProblemError otherwise. */
  result<D extends AnyDefinition>(definition: D, id: string, options?: ResultOptions): Promise<OutputOf<D>>
  result(type: string, id: string, options?: ResultOptions): Promise<unknown>
}

/** Tasks per request; a body holds 5 MB, so large inputs go in smaller ones. */
const BATCH_TASKS = 100
const BATCH_CHARACTERS = 1_500_000

/**
 * A client of the HTTP API. It works wherever `fetch` does. Every method throws `ProblemError` and nothing else when
 * the API refuses or does not answer.
 */
export function createClient(settings: ClientSettings): Client {
  const send = createSend(settings)
  const operations = createOperations(send)
  return {
    ...operations,
    publish: (what: AnyDefinition | string | PublishBody, input?: unknown, options?: PublishOptions) =>
      send<PublishAnswer>('POST', '/v1/tasks', { body: publishBody(what, input, options) }),
    publishMany: bodies => publishMany(send, bodies),
    list: filter => list(send, filter),
    result: (_type: AnyDefinition | string, id: string, options: ResultOptions = {}) =>
      waitForResult(() => operations.get(id), options) as Promise<never>,
  }
}

function publishBody(
  what: AnyDefinition | string | PublishBody,
  input: unknown,
  options: PublishOptions = {},
): object {
  if (typeof what === 'string') return { ...options, type: what, input }
  return 'kind' in what ? { ...options, type: what.type, input } : what
}

async function publishMany(send: Send, bodies: readonly PublishBody[]): Promise<PublishResult[]> {
  const results: PublishResult[] = []
  for (const tasks of batchesOf(bodies)) {
    const answer = await send<{ results: PublishResult[] }>('POST', '/v1/tasks', { body: { tasks } })
    results.push(...answer.results)
  }
  return results
}

/** In runs that one request can carry, whatever the text's share of multi-byte characters. */
function* batchesOf(bodies: readonly PublishBody[]): Generator<PublishBody[], void, undefined> {
  let batch: PublishBody[] = []
  let characters = 0
  for (const body of bodies) {
    const length = JSON.stringify(body).length
    const isFull = batch.length === BATCH_TASKS || characters + length > BATCH_CHARACTERS
    if (isFull && batch.length > 0) {
      yield batch
      batch = []
      characters = 0
    }
    batch.push(body)
    characters += length
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
