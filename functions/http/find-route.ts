import { idOf } from '../../shared/api/paths.ts'
import type { Route } from './route.ts'

export type Found =
  | { readonly ok: true; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  | { readonly ok: false; readonly reason: 'unknown-path' }
  | { readonly ok: false; readonly reason: 'unknown-method'; readonly allowed: readonly string[] }
  /** The path's text for this parameter is not an id. */
  | { readonly ok: false; readonly reason: 'not-an-id'; readonly parameter: string }

/** One path with its routes, one per method. */
type Resource = { readonly path: string; readonly pattern: RegExp; readonly routes: readonly Route[] }

/**
 * Makes the function that finds a route by method and decoded path. Decoding has turned `%2F` into slashes, so a parameter
 * may match several segments. The resource with the most fixed segments wins. The text of a parameter must then be an id.
 */
export function routeFinder(routes: readonly Route[]): (method: string, path: string) => Found {
  const resources = resourcesOf(routes)
  return (method, path) => {
    const resource = resources.find(({ pattern }) => pattern.test(path))
    if (!resource) return { ok: false, reason: 'unknown-path' }
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
    const route = resource.routes.find(one => one.method === wanted)
    const parsed = paramsIn(resource.pattern.exec(path)?.groups ?? {})
    if (route) return parsed.ok ? { ok: true, route, params: parsed.params } : parsed
    const allowed = resource.routes.map(one => one.method.toUpperCase())
    return parsed.ok
      ? { ok: false, reason: 'unknown-method', allowed }
      : { ok: false, reason: 'unknown-path' }
  }
}

function resourcesOf(routes: readonly Route[]): Resource[] {
  const byPath = Map.groupBy(routes, ({ path }) => path)
  const resources = [...byPath].map(([path, own]) => ({ path, pattern: patternOf(path), routes: own }))
  return resources.sort((a, b) => fixedSegments(b.path) - fixedSegments(a.path))
}

function fixedSegments(path: string): number {
  return path.split('/').filter(segment => !segment.startsWith('{')).length
}

function patternOf(path: string): RegExp {
  const pattern = path.replaceAll('.', '\\.').replace(/\{(\w+)\}/g, '(?<$1>.+)')
  return new RegExp(`^${pattern}$`, 's')
}

type ParsedParams =
  | { readonly ok: true; readonly params: Readonly<Record<string, string>> }
  | Extract<Found, { reason: 'not-an-id' }>

function paramsIn(groups: Readonly<Record<string, string>>): ParsedParams {
  const params: Record<string, string> = {}
  for (const [parameter, segment] of Object.entries(groups)) {
    const id = idOf(segment)
    if (id === undefined) return { ok: false, reason: 'not-an-id', parameter }
    params[parameter] = id
  }
  return { ok: true, params }
}
