import { idOf } from '../api/paths.ts'
import { groupBy } from '../core/values/records.ts'
import type { Operation } from './operation.ts'

export type Found<On> =
  | {
      readonly ok: true
      readonly operation: Operation<On>
      readonly params: Readonly<Record<string, string>>
    }
  | { readonly ok: false; readonly reason: 'unknown-path' }
  | { readonly ok: false; readonly reason: 'unknown-method'; readonly allowed: readonly string[] }
  /** The path's text for this parameter is not an id. */
  | { readonly ok: false; readonly reason: 'not-an-id'; readonly parameter: string }

/** One path with its operations, one per method. */
type Resource<On> = {
  readonly path: string
  readonly pattern: RegExp
  readonly own: readonly Operation<On>[]
}

/**
 * Makes the function that finds an operation by method and decoded path. Decoding has turned `%2F` into slashes, so a parameter
 * may match several segments. The resource with the most fixed segments wins. The text of a parameter must then be an id.
 */
export function operationFinder<On>(
  operations: readonly Operation<On>[],
): (method: string, path: string) => Found<On> {
  const resources = resourcesOf(operations)
  return (method, path) => {
    const resource = resources.find(({ pattern }) => pattern.test(path))
    if (!resource) return { ok: false, reason: 'unknown-path' }
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
    const operation = resource.own.find(one => one.method === wanted)
    const parsed = paramsIn(resource.pattern.exec(path)?.groups ?? {})
    if (operation) return parsed.ok ? { ok: true, operation, params: parsed.params } : parsed
    const allowed = resource.own.map(one => one.method.toUpperCase())
    return parsed.ok
      ? { ok: false, reason: 'unknown-method', allowed }
      : { ok: false, reason: 'unknown-path' }
  }
}

function resourcesOf<On>(operations: readonly Operation<On>[]): Resource<On>[] {
  const byPath = groupBy(operations, ({ path }) => path as string)
  const resources = [...byPath].map(([path, own]) => ({ path, pattern: patternOf(path), own }))
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
  | Extract<Found<never>, { reason: 'not-an-id' }>

function paramsIn(groups: Readonly<Record<string, string>>): ParsedParams {
  const params: Record<string, string> = {}
  for (const [parameter, segment] of Object.entries(groups)) {
    const id = idOf(segment)
    if (id === undefined) return { ok: false, reason: 'not-an-id', parameter }
    params[parameter] = id
  }
  return { ok: true, params }
}
