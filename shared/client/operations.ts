import { type OperationName, targetOf } from '../api/endpoints.ts'
import type * as api from '../api/index.ts'
import type { ExpectedRevision, Page, PageQuery } from '../api/scalars.ts'
import type { Json } from '../core/values/values.ts'
import { ProblemError } from './problem-error.ts'
import { aborted, newKey, pauseFor } from './repetition.ts'
import type { Ask, CallOptions, Send } from './send.ts'

/** Options of a call that makes a change. */
type ChangeOptions = CallOptions & ExpectedRevision

/**
 * The calls of the API that are one request and one answer. Each takes the options of the call last, and throws `ProblemError` when the
 * API refuses or does not answer. A change with
 * `ifRevision` is refused with status 409 when a person has changed the task, type or schedule since that revision was read.
 */
export type Operations = {
  /** Reads a task with its runs, input and result. `id` is `type:key`. */
  get(id: string, call?: CallOptions): Promise<api.ApiTask>
  /**
   * Says in one sentence why a task waits, runs or has ended, and what to do. The sentence for a member of a canvas that is not published
   * yet needs `query.canvasId`.
   */
  why(id: string, query?: api.WhyQuery, call?: CallOptions): Promise<api.WhyAnswer>
  /** Reads the stored log lines of a task. `after` is the `next` of an earlier answer. */
  log(id: string, query?: api.LogQuery, call?: CallOptions): Promise<api.TaskLog>
  /** Reads one page of a list of tasks. `list` reads all pages. */
  listPage(filter: api.ListFilter, call?: CallOptions): Promise<Page<api.ApiTask>>
  /**
   * Reads one page of a search: by id, key and user exactly, then by tag and by the text of the error. A page may be empty and still have a
   * `nextCursor`. `search` reads all pages.
   */
  searchPage(query: api.SearchQuery, call?: CallOptions): Promise<api.SearchAnswer>
  /** Reads one page of the results that earlier tasks of a canvas handed on to this task. */
  previous(id: string, page?: PageQuery, call?: CallOptions): Promise<Page<Json>>
  /** Changes an open task. Throws with status 409 when the task has ended. */
  patch(id: string, changes: api.PatchBody, call?: CallOptions): Promise<api.ApiTask>
  /** Removes a task: it never runs again, and a running handler is aborted. */
  remove(id: string, change?: ChangeOptions): Promise<void>
  /** Stops an open task and keeps its record. */
  cancel(id: string, change?: ChangeOptions): Promise<api.ApiTask>
  /** Tries an ended task again, as `how.action` says. @default a plain task starts over, a failed flow does what has failed again */
  retry(id: string, how?: api.RetryTaskBody, call?: CallOptions): Promise<api.ApiTask>
  /** Begins a job on the server that does one action on many tasks; see `BulkBody`. It continues when the caller has left. */
  startBulk(which: api.BulkBody, call?: CallOptions): Promise<api.BulkStarted>
  /** Reads a bulk operation: how far it is, and its outcome. */
  bulk(id: string, call?: CallOptions): Promise<api.ApiBulk>
  /** Reads one page of canvases, the latest first. `allCanvases` reads all pages. */
  canvases(query?: api.CanvasesQuery, call?: CallOptions): Promise<Page<api.ApiListedCanvas>>
  /** Reads a canvas with one page of its tasks. */
  canvas(id: string, page?: PageQuery, call?: CallOptions): Promise<api.ApiCanvas>
  /** Cancels a canvas and its open tasks. */
  cancelCanvas(id: string, call?: CallOptions): Promise<api.ApiCanvas>
  /** Reads one page of schedules, ordered by their next tick; paused schedules come last. Each shows only the type of its task. */
  schedules(page?: PageQuery, call?: CallOptions): Promise<Page<api.ApiSchedule>>
  /** Reads one schedule with its last and next tick. */
  schedule(name: string, call?: CallOptions): Promise<api.ApiSchedule>
  /** Creates a schedule or replaces it. A paused schedule stays paused. */
  putSchedule(name: string, schedule: api.ScheduleBody, call?: CallOptions): Promise<api.ApiSchedule>
  /** Removes a schedule. Tasks that it has published stay. */
  removeSchedule(name: string, change?: ChangeOptions): Promise<void>
  /** Pauses a schedule. */
  pauseSchedule(name: string, change?: ChangeOptions): Promise<api.ApiSchedule>
  /** Ends the pause of a schedule. */
  resumeSchedule(name: string, change?: ChangeOptions): Promise<api.ApiSchedule>
  /** Reads one page of the past ticks of a schedule with their tasks, newest first. `allTicks` reads all pages. */
  ticks(name: string, query?: api.TicksQuery, call?: CallOptions): Promise<Page<api.ApiTick>>
  /** Publishes the schedule's task now, in addition to its ticks. */
  triggerSchedule(name: string, call?: CallOptions): Promise<api.TriggerAnswer>
  /** Reads one page of failures, grouped by type and error, those with the most failures first. `allFailures` reads all pages. */
  failures(query?: api.FailuresQuery, call?: CallOptions): Promise<Page<api.ApiFailureGroup>>
  /** Reads one page of dead letters: by queue, and within a queue the newest first. `deadLetters` reads all pages. */
  deadLettersPage(query?: api.DeadLettersQuery, call?: CallOptions): Promise<Page<api.ApiDeadLetter>>
  /**
   * Sends dead letters again: up to 100 by their ids, or the next 100 of a queue. Each has a result of its own. A `nextCursor` in the
   * answer asks for the rest of the queue.
   */
  replayDeadLetters(which: api.ReplayBody, call?: CallOptions): Promise<api.ReplayAnswer>
  /** Counts a type's tasks by status. */
  counts(type: string, call?: CallOptions & api.CountsQuery): Promise<api.Counts>
  /** Reads one page of types with the numbers of their tasks by status, each counted up to `atMost`. */
  countsPage(query?: api.AllCountsQuery, call?: CallOptions): Promise<Page<api.TypeCounts>>
  /** Reads one page of types with what their tasks did, minute by minute. */
  activity(query?: api.ActivityQuery, call?: CallOptions): Promise<api.ActivityPage>
  /** Reads how much of a type's limits is used. A limit with a key is shown for one value of its key. */
  limits(type: string, query?: api.LimitUsageQuery, call?: CallOptions): Promise<api.LimitUsage>
  /** Reads one page of task types, in the order of their names. */
  types(page?: PageQuery, call?: CallOptions): Promise<Page<api.ApiType>>
  /** Reads the configuration of a task type. */
  type(type: string, call?: CallOptions): Promise<api.ApiType>
  /** Creates a task type or replaces its configuration. */
  putType(type: string, configuration: api.TypeBody, call?: CallOptions): Promise<api.ApiType>
  /** Pauses a type. When it returns, no task of the type can start any more; running tasks continue. */
  pause(type: string, change?: ChangeOptions): Promise<api.PausedType>
  /** Ends the pause of a type. */
  resume(type: string, change?: ChangeOptions): Promise<api.PausedType>
  /** Starts a background job that removes the type's tasks with the given statuses; see `PurgeBody`. */
  purge(type: string, which: api.PurgeBody, call?: CallOptions): Promise<api.PurgeAnswer>
  /** Whether the API answers. Locally, 503 names the parts that are down. */
  health(call?: CallOptions): Promise<api.HealthAnswer>
  /** Reads the description of the API, OpenAPI 3.1. */
  openapi(call?: CallOptions): Promise<Readonly<Record<string, Json>>>
  /** Reads what waits for an operator: halted tasks, dead letters by queue, and what callers last did about such things. */
  attention(call?: CallOptions): Promise<api.AttentionAnswer>
  /** Reads one page of the workers of the last day, in the order of their ids. Lambda workers are shown as one entry per type. */
  workers(page?: PageQuery, call?: CallOptions): Promise<Page<api.ApiWorker>>
  /**
   * Claims tasks for a worker and returns them running, with their input. After an empty answer the client delays the next claim
   * of the same worker for as long as the API asks.
   */
  claim(request: api.ClaimsBody, call?: CallOptions): Promise<api.ClaimsAnswer>
  /** Renews a run's lease. Throws with status 409 when the run is over. */
  heartbeat(
    id: string,
    runId: string,
    body: api.HeartbeatBody,
    call?: CallOptions,
  ): Promise<api.HeartbeatAnswer>
  /** Reports that a run succeeded. The same report may be repeated. */
  succeed(id: string, runId: string, body: api.SucceedBody, call?: CallOptions): Promise<api.ApiTask>
  /** Reports that a run failed. The task is retried while it has retries left. */
  fail(id: string, runId: string, body: api.FailBody, call?: CallOptions): Promise<api.ApiTask>
  /** Gives the task back. This costs no retry. */
  release(id: string, runId: string, body: api.ReleaseBody, call?: CallOptions): Promise<api.ApiTask>
  /** Renews the leases of up to 100 runs. Each result has a status of its own, in the order of the runs. */
  heartbeatMany(
    runs: ReadonlyArray<api.RunName & api.HeartbeatBody>,
    call?: CallOptions,
  ): Promise<Array<api.RunResult & Partial<api.HeartbeatAnswer>>>
  /** Reports the ends of up to 100 runs. Each result has a status of its own, in the order of the runs. */
  finishMany(
    runs: readonly api.FinishMember[],
    call?: CallOptions,
  ): Promise<Array<api.RunResult & Partial<api.TaskAnswer>>>
}

export function createOperations(send: Send): Operations {
  return { ...taskOperations(send), ...otherOperations(send), ...workerOperations(send) }
}

/** A second request of these does no harm: they read, or they set what stays set. */
const REPEATABLE = { isRepeatable: true }
/** Whether a second request does no harm. With `ifRevision` it would be refused because the first one has made its change. */
function isUnconditional({ ifRevision }: ExpectedRevision): boolean {
  return ifRevision === undefined
}

/** A read. What the query has may be undefined. */
function reading(query: object | undefined, call: CallOptions | undefined): Ask {
  return { query: query as Ask['query'], call, ...REPEATABLE }
}

/** A second removal finds nothing, and that is what was wanted. */
function removal({ ifRevision, ...call }: ChangeOptions = {}): Ask {
  return { query: { ifRevision }, call, isRepeatable: true, isDoneIfGone: true }
}

function changeOf({ ifRevision, ...call }: ChangeOptions = {}): Ask {
  const expected = ifRevision === undefined ? {} : { ifRevision }
  return { body: expected, call, isRepeatable: isUnconditional(expected) }
}

function replacement(body: object & ExpectedRevision, call: CallOptions | undefined): Ask {
  return { body, call, isRepeatable: isUnconditional(body) }
}

function taskOperations(send: Send) {
  const taskIn = async (answer: Promise<api.TaskAnswer>) => (await answer).task
  return {
    get: (id, call) => send(targetOf('get', id), reading({}, call)),
    why: (id, query, call) => send(targetOf('why', id), reading(query, call)),
    log: (id, query, call) => send(targetOf('log', id), reading(query, call)),
    previous: (id, page, call) => send(targetOf('previous', id), reading(page, call)),
    listPage: (filter, call) => send(targetOf('list'), reading(filter, call)),
    searchPage: (query, call) => send(targetOf('search'), reading(query, call)),
    patch: (id, body, call) => taskIn(send(targetOf('patch', id), replacement(body, call))),
    remove: (id, change) => send(targetOf('remove', id), removal(change)),
    cancel: (id, change) => taskIn(send(targetOf('cancel', id), changeOf(change))),
    // A second one could start the task over again, or be refused because the first one has.
    retry: (id, body = {}, call) => taskIn(send(targetOf('retry', id), { body, call })),
  } satisfies Partial<Operations>
}

function otherOperations(send: Send) {
  return {
    canvases: (query, call) => send(targetOf('listCanvases'), reading(query, call)),
    canvas: (id, page, call) => send(targetOf('getCanvas', id), reading(page, call)),
    // A second one would act on the tasks that have come meanwhile.
    startBulk: (body, call) => send(targetOf('startBulk'), { body, call }),
    bulk: (id, call) => send(targetOf('getBulk', id), reading({}, call)),
    cancelCanvas: (id, call) => send(targetOf('cancelCanvas', id), changeOf(call)),
    schedules: (page, call) => send(targetOf('listSchedules'), reading(page, call)),
    schedule: (name, call) => send(targetOf('getSchedule', name), reading({}, call)),
    putSchedule: (name, body, call) => send(targetOf('putSchedule', name), replacement(body, call)),
    removeSchedule: (name, change) => send(targetOf('removeSchedule', name), removal(change)),
    pauseSchedule: (name, change) => send(targetOf('pauseSchedule', name), changeOf(change)),
    resumeSchedule: (name, change) => send(targetOf('resumeSchedule', name), changeOf(change)),
    ticks: (name, query, call) => send(targetOf('listTicks', name), reading(query, call)),
    // A second one would publish a second task.
    triggerSchedule: (name, call) => send(targetOf('triggerSchedule', name), { body: {}, call }),
    failures: (query, call) => send(targetOf('listFailures'), reading(query, call)),
    deadLettersPage: (query, call) => send(targetOf('listDeadLetters'), reading(query, call)),
    replayDeadLetters: (body, call) => send(targetOf('replayDeadLetters'), { body, call }),
    counts: (type, { atMost, ...call } = {}) => send(targetOf('counts', type), reading({ atMost }, call)),
    countsPage: (query, call) => send(targetOf('listCounts'), reading(query, call)),
    activity: (query, call) => send(targetOf('listActivity'), reading(query, call)),
    limits: (type, query, call) => send(targetOf('limitUsage', type), reading(query, call)),
    types: (page, call) => send(targetOf('listTypes'), reading(page, call)),
    type: (type, call) => send(targetOf('getType', type), reading({}, call)),
    putType: (type, body, call) => send(targetOf('putType', type), replacement(body, call)),
    pause: (type, change) => send(targetOf('pauseType', type), changeOf(change)),
    resume: (type, change) => send(targetOf('resumeType', type), changeOf(change)),
    // A second one would also remove the tasks that ended after the first.
    purge: (type, body, call) => send(targetOf('purge', type), { body, call }),
    attention: call => send(targetOf('attention'), { call }),
    workers: (page, call) => send(targetOf('listWorkers'), reading(page, call)),
    health: call => send(targetOf('health'), reading({}, call)),
    openapi: call => send(targetOf('openapi'), reading({}, call)),
  } satisfies Partial<Operations>
}

/** The API accepts the same report of a run again, and answers the same claim again. */
function workerOperations(send: Send) {
  const report = (body: object, call?: CallOptions) => ({ body, call, ...REPEATABLE })
  const end = async (name: OperationName, [id, runId, body, call]: Parameters<Operations['succeed']>) =>
    (await send<api.TaskAnswer>(targetOf(name, id, runId), report(body, call))).task
  const many = async <Result>(name: OperationName, runs: readonly object[], call?: CallOptions) =>
    (await send<{ readonly results: Result[] }>(targetOf(name), report({ runs }, call))).results
  return {
    claim: pacedClaims((body, call) =>
      send(targetOf('claim'), { ...report(body, call), isPacedByCaller: true }),
    ),
    heartbeat: (id, runId, body, call) => send(targetOf('heartbeat', id, runId), report(body, call)),
    succeed: (...given) => end('succeed', given),
    fail: (id, runId, body, call) => end('fail', [id, runId, body, call]),
    release: (id, runId, body, call) => end('release', [id, runId, body, call]),
    heartbeatMany: (runs, call) => many('heartbeatMany', runs, call),
    finishMany: (runs, call) => many('finishMany', runs, call),
  } satisfies Partial<Operations>
}

/** The pause after a refusal (429) that does not name one. */
const CLAIM_RETRY_MS = 2_000

/**
 * Delays claims as the API asks. After an answer with `retryAfterMs`, it sends the next claim of the same worker after that time
 * at the earliest. A claim that is refused because too many claims wait (429) counts as an empty answer. A claim without a
 * `requestId` gets one, so that it may be sent again: the API answers a repetition with the same claims.
 */
function pacedClaims(send: Operations['claim']): Operations['claim'] {
  const pauses = new Map<string, { readonly from: number; readonly ms: number }>()
  return async (request, call) => {
    const { workerId } = request
    const pause = pauses.get(workerId)
    // A clock that is set back must not make the pause longer.
    const pauseMs = pause ? Math.min(pause.ms, pause.from + pause.ms - Date.now()) : 0
    if (pauseMs > 0) await pauseFor(pauseMs, call?.signal)
    if (call?.signal?.aborted) throw aborted('POST /v1/claims', call.signal.reason)
    const answer = await send({ requestId: newKey(), ...request }, call).catch(emptyAnswerOf)
    if (answer.retryAfterMs === undefined) pauses.delete(workerId)
    else pauses.set(workerId, { from: Date.now(), ms: answer.retryAfterMs })
    return answer
  }
}

function emptyAnswerOf(error: unknown): api.ClaimsAnswer {
  if (!(error instanceof ProblemError) || error.status !== 429) throw error
  return { claims: [], retryAfterMs: error.problem.retryAfterMs ?? CLAIM_RETRY_MS }
}

export type Items<Item> = AsyncGenerator<Item, void, undefined>

/**
 * Makes the call that yields the items of all pages. It reads the next page when the caller has taken all items of the present one.
 * `usual` is what a query is that says nothing else.
 */
export function allPages<Query extends PageQuery, Item>(
  read: (query: Query, call?: CallOptions) => Promise<Page<Item>>,
  usual: PageQuery = { limit: 100 },
) {
  return async function* (query?: Query, call?: CallOptions): Items<Item> {
    let cursor = query?.cursor
    do {
      // The client leaves out what is undefined.
      const page = await read({ ...usual, ...query, cursor } as Query, call)
      yield* page.items
      cursor = page.nextCursor
    } while (cursor !== undefined)
  }
}
