import type { ApiCanvas } from '../api/canvases.ts'
import { canvasPath, runPath, schedulePath, taskPath, typePath } from '../api/paths.ts'
import type {
  ClaimsAnswer,
  ClaimsBody,
  FailBody,
  FinishMember,
  HeartbeatAnswer,
  HeartbeatBody,
  ReleaseBody,
  RunName,
  RunResult,
  SucceedBody,
} from '../api/runs.ts'
import type { ExpectedRevision, Page, PageQuery } from '../api/scalars.ts'
import type { ApiSchedule, ScheduleBody, TriggerAnswer } from '../api/schedules.ts'
import type { ApiTask, ListFilter, PatchBody, RetryTaskBody, TaskAnswer } from '../api/tasks.ts'
import type { ApiType, Counts, PausedType, PurgeAnswer, PurgeBody, TypeBody } from '../api/types.ts'
import type { ApiWorker } from '../api/workers.ts'
import type { Json } from '../core/json.ts'
import { pacedClaims } from './paced-claims.ts'
import type { Send } from './send.ts'

/**
 * The calls of the API that are one request and one answer. Each throws `ProblemError` when the API refuses. A change with
 * `ifRevision` is refused with status 409 when a person has changed the task, type or schedule since that revision was read.
 */
export type Operations = {
  /** Reads a task with its runs, input and result. `id` is `type:key`. */
  get(id: string): Promise<ApiTask>
  /** Reads one page of a list of tasks. `list` reads all pages. */
  listPage(filter: ListFilter): Promise<Page<ApiTask>>
  /** Reads one page of the results that earlier tasks of a canvas handed on to this task. */
  previous(id: string, page?: PageQuery): Promise<Page<Json>>
  /** Changes an open task. Throws with status 409 when the task has ended. */
  patch(id: string, changes: PatchBody): Promise<ApiTask>
  /** Removes a task: it never runs again, and a running handler is aborted. */
  remove(id: string, expected?: ExpectedRevision): Promise<void>
  /** Stops an open task and keeps its record. */
  cancel(id: string, expected?: ExpectedRevision): Promise<ApiTask>
  /** Starts an ended task over, resumes a failed flow, or publishes owed callbacks, as `how.action` says. */
  retry(id: string, how?: RetryTaskBody): Promise<ApiTask>
  /** Reads a canvas with one page of its tasks. */
  canvas(id: string, page?: PageQuery): Promise<ApiCanvas>
  /** Cancels a canvas and its open tasks. */
  cancelCanvas(id: string): Promise<ApiCanvas>
  /** Reads one page of schedules, ordered by their next tick; paused schedules come last. Each shows only the type of its task. */
  schedules(page?: PageQuery): Promise<Page<ApiSchedule>>
  /** Reads one schedule with its last and next tick. */
  schedule(name: string): Promise<ApiSchedule>
  /** Creates a schedule or replaces it. A paused schedule stays paused. */
  putSchedule(name: string, schedule: ScheduleBody): Promise<ApiSchedule>
  /** Removes a schedule. Tasks that it has published stay. */
  removeSchedule(name: string, expected?: ExpectedRevision): Promise<void>
  /** Pauses a schedule. */
  pauseSchedule(name: string, expected?: ExpectedRevision): Promise<ApiSchedule>
  /** Ends the pause of a schedule. */
  resumeSchedule(name: string, expected?: ExpectedRevision): Promise<ApiSchedule>
  /** Publishes the schedule's task now, in addition to its ticks. */
  triggerSchedule(name: string): Promise<TriggerAnswer>
  /** Counts a type's tasks by status. */
  counts(type: string): Promise<Counts>
  /** Reads one page of task types, in the order of their names. */
  types(page?: PageQuery): Promise<Page<ApiType>>
  /** Reads the configuration of a task type. */
  type(type: string): Promise<ApiType>
  /** Creates a task type or replaces its configuration. */
  putType(type: string, configuration: TypeBody): Promise<ApiType>
  /** Pauses a type. When it returns, no task of the type can start any more; running tasks go on. */
  pause(type: string, expected?: ExpectedRevision): Promise<PausedType>
  /** Ends the pause of a type. */
  resume(type: string, expected?: ExpectedRevision): Promise<PausedType>
  /** Starts a background job that removes the type's tasks with the given statuses; see `PurgeBody`. */
  purge(type: string, which: PurgeBody): Promise<PurgeAnswer>
  /** Reads one page of live workers, in the order of their ids. Lambda workers are shown as one entry per type. */
  workers(page?: PageQuery): Promise<Page<ApiWorker>>
  /**
   * Claims tasks for a worker and returns them running, with their input. After an empty answer the client delays the next claim
   * of the same worker for as long as the API asks.
   */
  claim(request: ClaimsBody): Promise<ClaimsAnswer>
  /** Renews a run's lease. Throws with status 409 when the run is over. */
  heartbeat(id: string, runId: string, body: HeartbeatBody): Promise<HeartbeatAnswer>
  /** Reports that a run succeeded. The same report may be repeated. */
  succeed(id: string, runId: string, body: SucceedBody): Promise<ApiTask>
  /** Reports that a run failed. The task is retried while it has retries left. */
  fail(id: string, runId: string, body: FailBody): Promise<ApiTask>
  /** Gives the task back. This costs no retry. */
  release(id: string, runId: string, body: ReleaseBody): Promise<ApiTask>
  /** Renews the leases of up to 100 runs. Each result has a status of its own, in the order of the runs. */
  heartbeatMany(
    runs: ReadonlyArray<RunName & HeartbeatBody>,
  ): Promise<Array<RunResult & Partial<HeartbeatAnswer>>>
  /** Reports the ends of up to 100 runs. Each result has a status of its own, in the order of the runs. */
  finishMany(runs: readonly FinishMember[]): Promise<Array<RunResult & Partial<TaskAnswer>>>
}

export function createOperations(send: Send): Operations {
  const post = <Answer>(path: string, body: unknown = {}) => send<Answer>('POST', path, { body })
  const postForTask = async (path: string, body?: unknown) => (await post<TaskAnswer>(path, body)).task
  return {
    get: id => send('GET', taskPath(id)),
    previous: (id, page = {}) => send('GET', `${taskPath(id)}/previous`, { query: page }),
    listPage: filter => send('GET', '/v1/tasks', { query: filter }),
    patch: async (id, changes) => (await send<TaskAnswer>('PATCH', taskPath(id), { body: changes })).task,
    remove: (id, expected = {}) => send('DELETE', taskPath(id), { query: expected }),
    cancel: (id, expected) => postForTask(`${taskPath(id)}/cancel`, expected),
    retry: (id, how) => postForTask(`${taskPath(id)}/retry`, how),
    canvas: (id, page = {}) => send('GET', canvasPath(id), { query: page }),
    cancelCanvas: id => post(`${canvasPath(id)}/cancel`),
    schedules: (page = {}) => send('GET', '/v1/schedules', { query: page }),
    schedule: name => send('GET', schedulePath(name)),
    putSchedule: (name, schedule) => send('PUT', schedulePath(name), { body: schedule }),
    removeSchedule: (name, expected = {}) => send('DELETE', schedulePath(name), { query: expected }),
    pauseSchedule: (name, expected) => post(`${schedulePath(name)}/pause`, expected),
    resumeSchedule: (name, expected) => post(`${schedulePath(name)}/resume`, expected),
    triggerSchedule: name => post(`${schedulePath(name)}/trigger`),
    counts: type => send('GET', `${typePath(type)}/counts`),
    types: (page = {}) => send('GET', '/v1/types', { query: page }),
    type: type => send('GET', typePath(type)),
    putType: (type, configuration) => send('PUT', typePath(type), { body: configuration }),
    pause: (type, expected) => post(`${typePath(type)}/pause`, expected),
    resume: (type, expected) => post(`${typePath(type)}/resume`, expected),
    purge: (type, which) => post(`${typePath(type)}/purge`, which),
    workers: (page = {}) => send('GET', '/v1/workers', { query: page }),
    claim: pacedClaims(request => post('/v1/claims', request)),
    heartbeat: (id, runId, body) => post(runPath(id, runId, 'heartbeat'), body),
    succeed: (id, runId, body) => postForTask(runPath(id, runId, 'succeed'), body),
    fail: (id, runId, body) => postForTask(runPath(id, runId, 'fail'), body),
    release: (id, runId, body) => postForTask(runPath(id, runId, 'release'), body),
    heartbeatMany: async runs =>
      (await post<{ results: Array<RunResult & Partial<HeartbeatAnswer>> }>('/v1/runs/heartbeat', { runs }))
        .results,
    finishMany: async runs =>
      (await post<{ results: Array<RunResult & Partial<TaskAnswer>> }>('/v1/runs/finish', { runs })).results,
  }
}
