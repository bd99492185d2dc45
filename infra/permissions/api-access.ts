import type { GrantedTypes } from './table-access.ts'

/** The method and path of a route, or an IAM pattern for several routes. */
export type AllowedRoute = { readonly method: string; readonly path: string }

/**
 * The routes of the HTTP API by their purpose. IAM sees the method and the path of a request, never its query or body. So a
 * route can be allowed for single types only if its path names the task or the type.
 */

export const READING_ROUTES: readonly AllowedRoute[] = [route('GET', '/v1/*'), route('GET', '/healthz')]

/** The bodies of these requests name the types. */
const PUBLISHING: readonly AllowedRoute[] = [
  route('POST', '/v1/tasks'),
  route('POST', '/v1/tasks/batch'),
  route('POST', '/v1/canvases'),
]

/** Operations on canvases, schedules and dead letters, which belong to no type, and bulk operations, whose type is in the body. */
const OPERATING: readonly AllowedRoute[] = [
  route('POST', '/v1/bulk'),
  route('POST', '/v1/dead-letters/replay'),
  route('POST', '/v1/canvases/*/cancel'),
  route('POST', '/v1/schedules/*'),
]

/**
 * The routes of a publisher. It may publish, and wait for the results of its tasks. A publisher of named types gets no route to
 * publish: it publishes in the table, because the body of a request names the type, and IAM does not see the body.
 */
export function publishingRoutes(types: GrantedTypes): readonly AllowedRoute[] {
  if (types === 'any') return [...PUBLISHING, route('GET', '/v1/tasks/*'), route('GET', '/v1/canvases/*')]
  return types.flatMap(type => taskRoutes('GET', type))
}

/** The routes of an operator. It may also read what it operates on. */
export function operatingRoutes(types: GrantedTypes): readonly AllowedRoute[] {
  if (types === 'any') return [...READING_ROUTES, ...routesToOperateOn('*'), ...OPERATING]
  return types.flatMap(type => [
    ...taskRoutes('GET', type),
    route('GET', `/v1/types/${type}`),
    route('GET', `/v1/types/${type}/counts`),
    route('GET', `/v1/types/${type}/limits`),
    ...routesToOperateOn(type),
  ])
}

function routesToOperateOn(type: string): AllowedRoute[] {
  return [
    ...taskRoutes('POST', type, '/cancel'),
    ...taskRoutes('POST', type, '/retry'),
    ...taskRoutes('PATCH', type),
    ...taskRoutes('DELETE', type),
    ...['pause', 'resume', 'purge'].map(word => route('POST', `/v1/types/${type}/${word}`)),
  ]
}

/**
 * A task's id begins with its type and a colon. Clients send the colon percent-encoded, so there is a pattern for each form.
 * An id in base64url begins with `~`: a grant for named types does not cover it.
 */
function taskRoutes(method: string, type: string, operation = ''): AllowedRoute[] {
  const ids = type === '*' ? ['*'] : [`${type}:*`, `${type}%3A*`]
  return ids.map(id => route(method, `/v1/tasks/${id}${operation}`))
}

function route(method: string, path: string): AllowedRoute {
  return { method, path }
}
