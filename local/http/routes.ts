/** A route of an HTTP API: `GET /v1/tasks/{key}`, `ANY /{proxy+}` or `$default`. */
export type Route = { readonly key: string; readonly functionArn: string }

export type RouteMatch = { readonly route: Route; readonly parameters: Record<string, string> }

/**
 * The route that serves a request. The service prefers a full match over a greedy one, and a named method over `ANY`. `$default`
 * is the last choice.
 */
export function findRoute(routes: readonly Route[], method: string, path: string): RouteMatch | undefined {
  const matches = routes.flatMap(route => {
    const parameters = matchRoute(route.key, method, path)
    return parameters ? [{ route, parameters }] : []
  })
  return matches.sort((left, right) => preference(left.route.key) - preference(right.route.key))[0]
}

function matchRoute(key: string, method: string, path: string): Record<string, string> | undefined {
  if (key === '$default') return {}
  const [wantedMethod, template = ''] = key.split(' ')
  if (wantedMethod !== 'ANY' && wantedMethod !== method) return undefined
  return matchSegments(segmentsOf(template), segmentsOf(path))
}

function matchSegments(template: readonly string[], path: readonly string[]) {
  const last = template.at(-1) ?? ''
  const greedy = /^\{(.+)\+\}$/.exec(last)?.[1]
  if (greedy === undefined) {
    return template.length === path.length ? matchFixed(template, path) : undefined
  }
  const fixed = template.length - 1
  const parameters = path.length > fixed ? matchFixed(template.slice(0, fixed), path) : undefined
  return parameters && { ...parameters, [greedy]: path.slice(fixed).map(decoded).join('/') }
}

function matchFixed(template: readonly string[], path: readonly string[]) {
  const parameters: Record<string, string> = {}
  for (const [index, segment] of template.entries()) {
    const given = path[index] ?? ''
    const name = /^\{(.+)\}$/.exec(segment)?.[1]
    if (name) parameters[name] = decoded(given)
    else if (segment !== given) return undefined
  }
  return parameters
}

const segmentsOf = (path: string) => path.split('/').slice(1)

function preference(key: string) {
  if (key === '$default') return 1000
  const greedy = key.includes('+}') ? 100 : 0
  const variables = key.split('{').length - 1
  return greedy + variables * 2 + (key.startsWith('ANY ') ? 1 : 0)
}

/** The percent-decoded path, or the path unchanged if it cannot be decoded. */
export function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
