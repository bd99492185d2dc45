import type { Route } from './route.ts'

export type Found =
  | { readonly ok: true; readonly route: Route; readonly params: Readonly<Record<string, string>> }
  /** The path is known, but not with this method: those it knows. None: the path is unknown. */
  | { readonly ok: false; readonly allowed: readonly string[] }

/**
 * Finds routes by path and method. An id may hold slashes, for HTTP APIs decode `%2F` on the way: what follows it in a
 * route's path ends it. Routes are tried in their order.
 */
export function routeFinder(routes: readonly Route[]): (method: string, path: string) => Found {
  const patterns = routes.map(route => ({ route, pattern: patternOf(route.path) }))
  return (method, path) => {
    const fitting = patterns.filter(({ pattern }) => pattern.test(path))
    const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
    const found = fitting.find(({ route }) => route.method === wanted)
    if (!found) return { ok: false, allowed: fitting.map(({ route }) => route.method.toUpperCase()) }
    return { ok: true, route: found.route, params: decoded(found.pattern.exec(path)?.groups ?? {}) }
  }
}

function patternOf(path: string): RegExp {
  const pattern = path
    .replaceAll('.', '\\.')
    .replace(/\{(\w+)\}/g, (_braces, name) => `(?<${name}>${name === 'id' ? '.+' : '[^/]+'})`)
  return new RegExp(`^${pattern}$`, 's')
}

function decoded(groups: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(groups).map(([name, text]) => [name, decode(text)]))
}

/** What is not percent-encoded text stays as it is, and will name nothing. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
