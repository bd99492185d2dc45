import { segmentOf } from './paths.ts'

/** Each operation of the API: its method, and its path in OpenAPI's notation. */
export const ENDPOINTS = {
  publish: ['post', '/v1/tasks'],
  publishMany: ['post', '/v1/tasks/batch'],
  list: ['get', '/v1/tasks'],
  search: ['get', '/v1/search'],
  get: ['get', '/v1/tasks/{id}'],
  why: ['get', '/v1/tasks/{id}/why'],
  log: ['get', '/v1/tasks/{id}/log'],
  previous: ['get', '/v1/tasks/{id}/previous'],
  patch: ['patch', '/v1/tasks/{id}'],
  cancel: ['post', '/v1/tasks/{id}/cancel'],
  retry: ['post', '/v1/tasks/{id}/retry'],
  remove: ['delete', '/v1/tasks/{id}'],
  startBulk: ['post', '/v1/bulk'],
  listBulks: ['get', '/v1/bulk'],
  getBulk: ['get', '/v1/bulk/{id}'],
  claim: ['post', '/v1/claims'],
  heartbeat: ['post', '/v1/tasks/{id}/runs/{runId}/heartbeat'],
  succeed: ['post', '/v1/tasks/{id}/runs/{runId}/succeed'],
  fail: ['post', '/v1/tasks/{id}/runs/{runId}/fail'],
  release: ['post', '/v1/tasks/{id}/runs/{runId}/release'],
  heartbeatMany: ['post', '/v1/runs/heartbeat'],
  finishMany: ['post', '/v1/runs/finish'],
  listTypes: ['get', '/v1/types'],
  getType: ['get', '/v1/types/{type}'],
  putType: ['put', '/v1/types/{type}'],
  pauseType: ['post', '/v1/types/{type}/pause'],
  resumeType: ['post', '/v1/types/{type}/resume'],
  counts: ['get', '/v1/types/{type}/counts'],
  limitUsage: ['get', '/v1/types/{type}/limits'],
  purge: ['post', '/v1/types/{type}/purge'],
  listCounts: ['get', '/v1/counts'],
  listActivity: ['get', '/v1/activity'],
  publishCanvas: ['post', '/v1/canvases'],
  listCanvases: ['get', '/v1/canvases'],
  getCanvas: ['get', '/v1/canvases/{id}'],
  cancelCanvas: ['post', '/v1/canvases/{id}/cancel'],
  listSchedules: ['get', '/v1/schedules'],
  getSchedule: ['get', '/v1/schedules/{name}'],
  putSchedule: ['put', '/v1/schedules/{name}'],
  removeSchedule: ['delete', '/v1/schedules/{name}'],
  pauseSchedule: ['post', '/v1/schedules/{name}/pause'],
  resumeSchedule: ['post', '/v1/schedules/{name}/resume'],
  listTicks: ['get', '/v1/schedules/{name}/ticks'],
  triggerSchedule: ['post', '/v1/schedules/{name}/trigger'],
  listFailures: ['get', '/v1/failures'],
  listDeadLetters: ['get', '/v1/dead-letters'],
  replayDeadLetters: ['post', '/v1/dead-letters/replay'],
  attention: ['get', '/v1/attention'],
  listWorkers: ['get', '/v1/workers'],
  events: ['get', '/v1/events'],
  health: ['get', '/healthz'],
  openapi: ['get', '/v1/openapi.json'],
} as const satisfies Record<string, Endpoint>

export type Endpoint = readonly [method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: `/${string}`]

/** The name of an operation. Generated clients name their functions after it, so it does not change. */
export type OperationName = keyof typeof ENDPOINTS

/** Where a request for an operation goes: its method, in capitals, and its path, with these ids in place of its parameters, in order. */
export function targetOf(
  name: OperationName,
  ...ids: readonly string[]
): readonly [method: string, path: string] {
  const [method, path] = ENDPOINTS[name]
  const left = ids.values()
  return [method.toUpperCase(), path.replaceAll(/\{\w+\}/g, () => segmentOf(left.next().value ?? ''))]
}

/** The path of an operation, with these ids in place of its parameters, in order. */
export function pathOf(name: OperationName, ...ids: readonly string[]): string {
  return targetOf(name, ...ids)[1]
}
