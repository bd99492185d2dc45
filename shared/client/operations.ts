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
import type { Page, PageQuery } from '../api/scalars.ts'
import type { ApiSchedule, ScheduleBody, TriggerAnswer } from '../api/schedules.ts'
import type { ApiTask, ListFilter, PatchBody, RetryTaskBody, TaskAnswer } from '../api/tasks.ts'
import type { ApiType, Counts, PausedType, PurgeAnswer, PurgeBody, TypeBody } from '../api/types.ts'
import type { ApiWorker } from '../api/workers.ts'
import type { Json } from '../core/json.ts'
import { pacedClaims } from './paced-claims.ts'
import type { Send } from './send.ts'

/** The calls of the API that are one request and one answer. */
export type Operations = {
  get(id: string): Promise<ApiTask>
  /** One page; `list` follows the cursor by itself. */
  listPage(filter: ListFilter): Promise<Page<ApiTask>>
  /** A page of the list that was handed on to a task. */
  previous(id: string, page?: PageQuery): Promise<Page<Json>>
  patch(id: string, changes: PatchBody): Promise<ApiTask>
  remove(id: string): Promise<void>
  cancel(id: string): Promise<ApiTask>
  retry(id: string, how?: RetryTaskBody): Promise<ApiTask>
  canvas(id: string, page?: PageQuery): Promise<ApiCanvas>
  cancelCanvas(id: string): Promise<ApiCanvas>
  /** Those that run next first, paused ones last; of their tasks the type alone. */
  schedules(page?: PageQuery): Promise<Page<ApiSchedule>>
  schedule(name: string): Promise<ApiSchedule>
  putSchedule(name: string, schedule: ScheduleBody): Promise<ApiSchedule>
  removeSchedule(name: string): Promise<void>
  pauseSchedule(name: string): Promise<ApiSchedule>
  resumeSchedule(name: string): Promise<ApiSchedule>
  triggerSchedule(name: string): Promise<TriggerAnswer>
  counts(type: string): Promise<Counts>
  types(page?: PageQuery): Promise<Page<ApiType>>
  type(type: string): Promise<ApiType>
  putType(type: string, configuration: TypeBody): Promise<ApiType>
  /** Returns when nothing of the type can begin any more; what runs goes on. */
  pause(type: string): Promise<PausedType>
  resume(type: string): Promise<PausedType>
  /** Begins to remove tasks of the type, in the background: see `PurgeBody`. */
  purge(type: string, which: PurgeBody): Promise<PurgeAnswer>
  workers(page?: PageQuery): Promise<Page<ApiWorker>>
  claim(request: ClaimsBody): Promise<ClaimsAnswer>
  heartbeat(id: string, runId: string, body: HeartbeatBody): Promise<HeartbeatAnswer>
  succeed(id: string, runId: string, body: SucceedBody): Promise<ApiTask>
  fail(id: string, runId: string, body: FailBody): Promise<ApiTask>
  release(id: string, runId: string, body: ReleaseBody): Promise<ApiTask>
  heartbeatMany(
    runs: ReadonlyArray<RunName & HeartbeatBody>,
  ): Promise<Array<RunResult & Partial<HeartbeatAnswer>>>
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
    remove: id => send('DELETE', taskPath(id)),
    cancel: id => postForTask(`${taskPath(id)}/cancel`),
    retry: (id, how) => postForTask(`${taskPath(id)}/retry`, how),
    canvas: (id, page = {}) => send('GET', canvasPath(id), { query: page }),
    cancelCanvas: id => post(`${canvasPath(id)}/cancel`),
    schedules: (page = {}) => send('GET', '/v1/schedules', { query: page }),
    schedule: name => send('GET', schedulePath(name)),
    putSchedule: (name, schedule) => send('PUT', schedulePath(name), { body: schedule }),
    removeSchedule: name => send('DELETE', schedulePath(name)),
    pauseSchedule: name => post(`${schedulePath(name)}/pause`),
    resumeSchedule: name => post(`${schedulePath(name)}/resume`),
    triggerSchedule: name => post(`${schedulePath(name)}/trigger`),
    counts: type => send('GET', `${typePath(type)}/counts`),
    types: (page = {}) => send('GET', '/v1/types', { query: page }),
    type: type => send('GET', typePath(type)),
    putType: (type, configuration) => send('PUT', typePath(type), { body: configuration }),
    pause: type => post(`${typePath(type)}/pause`),
    resume: type => post(`${typePath(type)}/resume`),
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
