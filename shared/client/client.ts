/**
 * The typed client of the HTTP API. This file makes the client and holds the calls that need several requests.
 *
 * - `operations.ts`: the calls that are one request and one answer;
 * - `publish.ts`, `publish-many.ts`: publishing, with the check of inputs and keys of the client's own;
 * - `send.ts`: sends a request within its time, again where that is safe (`repetition.ts`), and turns every failure into a
 *   `ProblemError` (`problem-error.ts`);
 * - `wait-for-result.ts`, `events.ts`: waiting for an end, following events.
 */

import type * as api from '../api/index.ts'
import type { Json } from '../core/values/values.ts'
import type { Canvas, ResultOf } from '../define/canvases.ts'
import type { AnyDefinition, NameOf, OutputOf } from '../define/definitions.ts'
import type { EventsOptions } from './events.ts'
import { allPages, createOperations, type Items, type Operations } from './operations.ts'
import { clientProblem, ProblemError } from './problem-error.ts'
import type { ClientArguments, Published } from './publish.ts'
import { isRepeatable, publishAny, refuseInput, withKey } from './publish.ts'
import type { Many, PublishManyOptions, TaskOf } from './publish-many.ts'
import { pauseFor } from './repetition.ts'
import { type CallOptions, type ClientSettings, createTransport, unsendable } from './send.ts'
import { type ResultOptions, waitForResult } from './wait-for-result.ts'

/** A task of a type, or a canvas: its id, or its key. */
type Target = string | { readonly key: string }

export type Client = Operations & {
  /**
   * Publishes a task or a canvas, given in one of these forms:
   *
   * - a definition, its input and options: `publish(resize, { width: 200 }, { key: 'img-1' })`;
   * - the name of a type, with or without the type of its definition: `publish<typeof resize>('resize', { width: 200 })`;
   * - a canvas, as `chain`, `group` and `chord` return it, and options: `publish(chain(…), { key: 'album-1' })`;
   * - a body, such as `resize.with({ width: 200 })` or `{ type: 'resize', input: { width: 200 } }`.
   *
   * A second publish of the same key creates nothing: its answer is the existing task, with `created: false`. Without a key the client
   * makes one, so that a request whose answer was lost may be sent again. The options of the call come last.
   *
   * @throws ProblemError `invalid` before anything is sent, when the input does not fit the definition's schema. `problem.errors`
   * names the fields.
   */
  publish<What extends AnyDefinition | Canvas | string = never>(
    what: What | NameOf<What> | api.PublishBody,
    ...given: [...ClientArguments<What>, call?: CallOptions]
  ): Promise<Published<What>>
  /**
   * Publishes any number of tasks independently: bodies, or the inputs and options of one definition's tasks. It sends batches, several
   * at a time, and takes no more from a stream than it can send. The results are in the order of the tasks, each with a status of its
   * own: also a task whose input does not fit (400), and one that no try could store (0, 408, 429 or 5xx). Further tries send only the
   * tasks that were not stored for now.
   *
   * @throws ProblemError when the API refuses whole requests, for example because of the caller (403).
   */
  publishMany(bodies: Many<api.PublishBody>, options?: PublishManyOptions): Promise<api.PublishResult[]>
  /** Publishes many tasks of one definition. The inputs are checked by its schema. */
  publishMany<Definition extends AnyDefinition>(
    definition: Definition,
    tasks: Many<TaskOf<Definition>>,
    options?: PublishManyOptions,
  ): Promise<api.PublishResult[]>
  /** Yields all tasks that match a filter. It reads the next page when the caller has taken all tasks of the present one. */
  list(filter: api.ListFilter, call?: CallOptions): Items<api.ApiTask>
  /** Yields all tasks that a text finds: by id, key and user exactly, then by tag and by the text of the error, which takes long. */
  search(q: string, call?: CallOptions): Items<api.ApiTask>
  /** Yields all failures, grouped by type and error, those with the most failures first. */
  allFailures(query?: api.FailuresQuery, call?: CallOptions): Items<api.ApiFailureGroup>
  /** Yields all dead letters: by queue, and within a queue the newest first. */
  deadLetters(query?: api.DeadLettersQuery, call?: CallOptions): Items<api.ApiDeadLetter>
  /** Yields all task types, in the order of their names. */
  allTypes(call?: CallOptions): Items<api.ApiType>
  /** Yields all schedules, ordered by their next tick. */
  allSchedules(call?: CallOptions): Items<api.ApiSchedule>
  /** Yields the past ticks of a schedule with their tasks, newest first. */
  allTicks(name: string, call?: CallOptions): Items<api.ApiTick>
  /** Yields all live workers. */
  allWorkers(call?: CallOptions): Items<api.ApiWorker>
  /** Yields all canvases, the latest first. */
  allCanvases(query?: api.CanvasesQuery, call?: CallOptions): Items<api.ApiListedCanvas>
  /** Yields all tasks of a canvas, in the order of its body. */
  canvasItems(id: string, call?: CallOptions): Items<api.ApiCanvas['items'][number]>
  /** Yields all results that earlier tasks of a canvas handed on to this task. */
  allPrevious(id: string, call?: CallOptions): Items<Json>
  /**
   * Yields the events of the local system as they happen, until `signal` aborts. When a connection breaks, the client opens
   * another one and misses no event.
   *
   * @throws ProblemError when the first connection fails, and with status 501 for a deployed system, whose events go to
   * EventBridge.
   */
  events(options?: EventsOptions): AsyncGenerator<api.ApiEvent, void, undefined>
  /**
   * Waits for a task's end and returns its result, as JSON gives it back: typed by its definition, or `unknown` for a name. The type of
   * a definition is enough: `result<typeof resize>('resize', id)`. The task is named by its id or its key:
   * `result(resize, { key: 'img-1' })`.
   *
   * @throws ProblemError `task-failed` when the task failed or was cancelled, `timeout` when it did not end in time, `aborted`
   */
  result<What extends AnyDefinition | string>(
    what: What | NameOf<What>,
    target: Target,
    options?: ResultOptions,
  ): Promise<OutputOf<What>>
  /**
   * Waits for a canvas's end and returns its result, typed by `canvas` if that is given. The result is undefined when it is
   * too long for one answer (see `ApiCanvas`); then read the results of its tasks with `canvasItems`.
   *
   * @throws ProblemError `task-failed` when the canvas failed or was cancelled, `timeout` when it did not end in time, `aborted`
   */
  canvasResult<C extends Canvas>(
    canvas: C | undefined,
    target: Target,
    options?: ResultOptions,
  ): Promise<ResultOf<C>>
}

/**
 * Creates a client of the HTTP API. It works wherever `fetch` does.
 *
 * ```ts
 * const baton = createClient()   // the API at BATON_URL, else the local system
 * const task = await baton.publish(resize, { width: 200 })
 * const result = await task.result()
 * ```
 *
 * A deployed API demands signed calls: `createClient({ url, fetch: signedFetch() })`, with `signedFetch` of `baton-tasks/aws`.
 * Every method throws `ProblemError`, and no other error, when the API refuses the request or does not answer. Its `code` says why.
 */
export function createClient(settings: ClientSettings = {}): Client {
  const { open, send } = createTransport(settings)
  const operations = createOperations(send)
  const tools = { send, refuseInput, withKey, isRepeatable, unsendable, ProblemError }
  const endOf = (id: string) => (read: CallOptions) => operations.get(id, read)
  const canvasEnd = (id: string) => (read: CallOptions) => operations.canvas(id, { limit: 1 }, read)
  return {
    ...operations,
    publish: (what: AnyDefinition | string | Canvas | api.PublishBody, ...given: unknown[]) =>
      publishAny(send, operations, what, given) as Promise<never>,
    // A browser loads the code of these two only when it calls them.
    publishMany: async (what: AnyDefinition | Many<api.PublishBody>, ...given: readonly unknown[]) => {
      const { publishMany } = await import('./publish-many.ts')
      return 'kind' in what
        ? publishMany(tools, given[0] as Many<api.PublishBody>, what, Object(given[1]))
        : publishMany(tools, what, undefined, Object(given[0]))
    },
    events: async function* (options = {}) {
      const { followEvents } = await import('./events.ts')
      yield* followEvents({ open, pauseFor, clientProblem }, options)
    },
    list: allPages(operations.listPage, {}),
    search: (q, call) => allPages(operations.searchPage, {})({ q }, call),
    allFailures: allPages(operations.failures),
    deadLetters: allPages(operations.deadLettersPage),
    allTypes: call => allPages(operations.types)({}, call),
    allSchedules: call => allPages(operations.schedules)({}, call),
    allTicks: (name, call) => allPages(page => operations.ticks(name, page, call))(),
    allWorkers: call => allPages(operations.workers)({}, call),
    allCanvases: allPages(operations.canvases),
    canvasItems: (id, call) => allPages(page => operations.canvas(id, page, call))(),
    allPrevious: (id, call) => allPages(page => operations.previous(id, page, call))(),
    result: (what: AnyDefinition | string, target: Target, options: ResultOptions = {}) =>
      waitForResult(
        endOf(idOf(target, typeof what === 'string' ? what : what.type)),
        options,
      ) as Promise<never>,
    canvasResult: (_canvas: Canvas | undefined, target: Target, options: ResultOptions = {}) =>
      waitForResult(canvasEnd(idOf(target, 'canvas')), options) as Promise<never>,
  }
}

function idOf(target: Target, type: string): string {
  return typeof target === 'string' ? target : `${type}:${target.key}`
}
