import type { HttpRequest } from '@smithy/types'

/** A request in the form that the signer takes, and what else is needed to send it. */
export type RequestParts = Omit<HttpRequest, 'body'> & {
  readonly body?: Uint8Array<ArrayBuffer>
  readonly host: string
}

/** Takes a request apart. Its body is read whole, because the signature covers it. */
export async function signablePartsOf(request: Request): Promise<RequestParts> {
  const { protocol, hostname, host, port, pathname, search } = new URL(request.url)
  const body = request.body ? new Uint8Array(await request.arrayBuffer()) : undefined
  return {
    method: request.method,
    protocol,
    hostname,
    host,
    ...(port !== '' && { port: Number(port) }),
    path: pathname,
    query: queryOf(search),
    headers: { ...Object.fromEntries(request.headers), host },
    ...(body && { body }),
  }
}

/** What a request says about how it is sent. No signature covers it. */
const UNSIGNED = [
  ...(['cache', 'credentials', 'integrity', 'keepalive', 'mode'] as const),
  ...(['redirect', 'referrer', 'referrerPolicy', 'signal'] as const),
]

/**
 * Puts a signed request together. `fetch` sets the host by itself. All that is not signed is as in the original `request` and its
 * `init`. What a runtime adds to both, such as the `dispatcher` of Node, is passed on, too: by `init`, or by the request itself.
 */
export function requestOf(parts: RequestParts, request: Request, init: RequestInit = {}): Request {
  const { method, protocol, host, path, query, headers, body } = parts
  const { host: _host, ...sent } = headers
  const url = `${protocol}//${host}${path}${searchOf(query)}`
  const unsigned = Object.fromEntries(UNSIGNED.map(name => [name, request[name]]))
  const members = { ...init, ...unsigned, method, headers: sent, body: body ?? null }
  return new Request(url === request.url ? request : url, members)
}

/** The parameters of a query, decoded. A repeated name has a list of values. */
function queryOf(search: string): Record<string, string[]> {
  const query = new Map<string, string[]>()
  for (const [name, value] of new URLSearchParams(search)) {
    query.set(name, [...(query.get(name) ?? []), value])
  }
  return Object.fromEntries(query)
}

/**
 * The query as it is sent. It is encoded exactly as in the signature. A `+` for a space, for example, would be signed as a space and read
 * as a plus.
 */
export function searchOf(query: HttpRequest['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    [value ?? ''].flat().map(one => `${strictlyEncoded(name)}=${strictlyEncoded(one)}`),
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

/** Percent-encodes everything except letters, digits and `- _ . ~`. Source: IAM User Guide, canonical requests. */
function strictlyEncoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
