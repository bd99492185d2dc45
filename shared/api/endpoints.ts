import { segmentOf } from './paths.ts'

/** Each operation of the HTTP API: its method and its path, in OpenAPI's notation. */
export const ENDPOINTS = {
  publishCanvas: ['post', '/v1/canvases'],
  getCanvas: ['get', '/v1/canvases/{id}'],
  cancelCanvas: ['post', '/v1/canvases/{id}/cancel'],
  claim: ['post', '/v1/claims'],
  listDeadLetters: ['get', '/v1/dead-letters'],
  replayDeadLetters: ['post', '/v1/dead-letters/replay'],
  events: ['get', '/v1/events'],
  listFailures: ['get', '/v1/failures'],
  listCounts: ['get', '/v1/counts'],
  listActivity: ['get', '/v1/activity'],
  limitUsage: ['get', '/v1/types/{type}/limits'],
  previous: ['get', '/v1/tasks/{id}/previous'],
  publish: ['post', '/v1/tasks'],
  publishMany: ['post', '/v1/tasks/batch'],
  heartbeatMany: ['post', '/v1/runs/heartbeat'],
  finishMany: ['post', '/v1/runs/finish'],
  heartbeat: ['post', '/v1/tasks/{id}/runs/{runId}/heartbeat'],
  succeed: ['post', '/v1/tasks/{id}/runs/{runId}/succeed'],
  fail: ['post', '/v1/tasks/{id}/runs/{runId}/fail'],
  release: ['post', '/v1/tasks/{id}/runs/{runId}/release'],
  listSchedules: ['get', '/v1/schedules'],
  getSchedule: ['get', '/v1/schedules/{name}'],
  putSchedule: ['put', '/v1/schedules/{name}'],
  removeSchedule: ['delete', '/v1/schedules/{name}'],
  pauseSchedule: ['post', '/v1/schedules/{name}/pause'],
  resumeSchedule: ['post', '/v1/schedules/{name}/resume'],
  triggerSchedule: ['post', '/v1/schedules/{name}/trigger'],
  health: ['get', '/healthz'],
  openapi: ['get', '/v1/openapi.json'],
  list: ['get', '/v1/tasks'],
  get: ['get', '/v1/tasks/{id}'],
  patch: ['patch', '/v1/tasks/{id}'],
  remove: ['delete', '/v1/tasks/{id}'],
  cancel: ['post', '/v1/tasks/{id}/cancel'],
  retry: ['post', '/v1/tasks/{id}/retry'],
  listTypes: ['get', '/v1/types'],
  getType: ['get', '/v1/types/{type}'],
  putType: ['put', '/v1/types/{type}'],
  pauseType: ['post', '/v1/types/{type}/pause'],
  resumeType: ['post', '/v1/types/{type}/resume'],
  counts: ['get', '/v1/types/{type}/counts'],
  purge: ['post', '/v1/types/{type}/purge'],
  why: ['get', '/v1/tasks/{id}/why'],
  listWorkers: ['get', '/v1/workers'],
} as const satisfies Record<string, Endpoint>

export type Endpoint = readonly [method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: `/${string}`]

/** The name of an operation. Generated clients name their functions after it, so it does not change. */
export type OperationName = keyof typeof ENDPOINTS

/** The path of an operation, with these ids in place of its parameters, in their order. */
export function pathOf(name: OperationName, ...ids: readonly string[]): string {
  const left = ids.values()
  return ENDPOINTS[name][1].replaceAll(/\{\w+\}/g, () => segmentOf(left.next().value ?? ''))
}
