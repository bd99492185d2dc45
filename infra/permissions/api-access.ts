import type { GrantedTypes } from './type-reach.ts'

/** A route, or many by a pattern of IAM: its method and its path. */
export type AllowedRoute = { readonly method: string; readonly path: string }

/**
 * The routes of the HTTP API by what they are for. IAM sees the method and the path of a request, never its query or body. So
 * what names its task or type in the path can be allowed for single types, and what names them elsewhere cannot.
 */

const READING: readonly AllowedRoute[] = [route('GET', '/v1/*'), route('GET', '/healthz')]

/** Publishing names its types in the body. */
const PUBLISHING: readonly AllowedRoute[] = [
  route('POST', '/v1/tasks'),
  route('POST', '/v1/tasks/batch'),
  route('POST', '/v1/canvases'),
]

/** What operators do to canvases and schedules, which belong to no type. */
const OPERATING: readonly AllowedRoute[] = [
  route('POST', '/v1/canvases/*/cancel'),
  route('POST', '/v1/schedules/*'),
]

export function readingRoutes(): readonly AllowedRoute[] {
  return READING
}

/** A publisher may wait for the results of its tasks. */
export function publishingRoutes(types: GrantedTypes): readonly AllowedRoute[] {
  if (types === 'any') return [...PUBLISHING, route('GET', '/v1/tasks/*'), route('GET', '/v1/canvases/*')]
  return types.flatMap(type => ofTasks('GET', type))
}

/** An operator reads what it operates on. */
export function operatingRoutes(types: GrantedTypes): readonly AllowedRoute[] {
  if (types === 'any') return [...READING, ...operatingOn('*'), ...OPERATING]
  return types.flatMap(type => [
    ...ofTasks('GET', type),
    route('GET', `/v1/types/${type}`),
    route('GET', `/v1/types/${type}/counts`),
    ...operatingOn(type),
  ])
}

function operatingOn(type: string): AllowedRoute[] {
  return [
    ...ofTasks('POST', type, '/cancel'),
    ...ofTasks('POST', type, '/retry'),
    ...ofTasks('PATCH', type),
    ...ofTasks('DELETE', type),
    ...['pause', 'resume', 'purge'].map(word => route('POST', `/v1/types/${type}/${word}`)),
  ]
}

/**
 * A task's id begins with its type and a colon, which clients send percent-encoded: whichever form IAM is shown, it is one of
 * these. Ids that must be sent in base64url begin with `~` and are out of reach of those that name types.
 */
function ofTasks(method: string, type: string, operation = ''): AllowedRoute[] {
  const ids = type === '*' ? ['*'] : [`${type}:*`, `${type}%3A*`]
  return ids.map(id => route(method, `/v1/tasks/${id}${operation}`))
}

function route(method: string, path: string): AllowedRoute {
  return { method, path }
}
