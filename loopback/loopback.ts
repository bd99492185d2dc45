/**
 * What the servers on a developer's machine share: the API of the local system, and `baton dashboard` for a deployed one. Both listen on
 * 127.0.0.1, and a browser on this machine may show pages that would like to use them.
 *
 * This file bounds how long a request may arrive, refuses the requests of foreign pages, reads requests and sends answers. `pages.ts` serves
 * the files of the dashboard, under a policy that lets nothing else run.
 */

import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * Bounds on a request that arrives; its answer may take longer. A client that sends headers for ever would keep its connection for ever.
 * API Gateway has the same bounds on the whole request and on its headers.
 * Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html
 */
export const ARRIVAL: ArrivalBounds = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  maxHeaderSize: 10_240,
}

/** Options of Node's HTTP server: milliseconds, and bytes of the headers. */
export type ArrivalBounds = Pick<
  ServerOptions,
  'headersTimeout' | 'requestTimeout' | 'connectionsCheckingInterval' | 'maxHeaderSize'
>

/** The refusal of a request; undefined if it is admitted. */
export type Admit = (request: Pick<IncomingMessage, 'headers' | 'method' | 'url'>) => HttpAnswer | undefined

/** The paths of the API. Every other path is a page of the dashboard, when a browser asks for a document. */
export const API_PATH = /^\/(v1|healthz)(\/|$)/

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
/** Values of `Sec-Fetch-Site` for requests from the API's own pages, and for addresses that a person has typed. */
const OWN_SITES = ['same-origin', 'none']
const HTTP_PORT = '80'

/** How the refusals speak of the server, and what they advise to a user that calls it by another name. */
type Named = { readonly name: string; readonly hint: string }

const LOCAL_SYSTEM: Named = { name: 'the local system', hint: '; --allow-host NAME adds a name' }

/**
 * Refuses requests of foreign web pages in the developer's browser. The browser marks every such request, preflights included: it sends the
 * page's origin, or a header that says that the request is cross-site. A page whose host name was pointed at this machine (DNS rebinding)
 * counts as the same origin, but it sends that name as the host. Programs send only `Host` of these headers.
 *
 * A link of a mail, a wiki or a chat opens a page of the dashboard. The browser marks that it shows the answer as the document of a tab, so
 * the foreign page reads nothing of it, and a page of the dashboard does nothing by being opened.
 */
export function admitting(
  port: string,
  allowedHosts: readonly string[],
  { name, hint }: Named = LOCAL_SYSTEM,
): Admit {
  const hosts = new Set([...LOOPBACK, ...allowedHosts].flatMap(host => spellingsOf(host.toLowerCase(), port)))
  const known = [...hosts].join(', ')

  return request => {
    const { headers } = request
    const host = (headers.host ?? '').toLowerCase()
    if (!hosts.has(host)) {
      const addressed = host === '' ? 'without a host' : `for the host ${host}`
      return forbidden(name, `${name} answers requests for ${known}, and this one is ${addressed}${hint}`)
    }
    const { origin, 'sec-fetch-site': site } = headers
    if (origin !== undefined && origin.toLowerCase() !== `http://${host}`)
      return forbidden(name, `a page of ${origin} must not use ${name}`)
    if (site !== undefined && !OWN_SITES.includes(String(site)) && !opensPage(request))
      return forbidden(name, `a page of another site must not use ${name} (Sec-Fetch-Site: ${site})`)
    return undefined
  }
}

function opensPage({ method, url = '', headers }: Parameters<Admit>[0]): boolean {
  const isDocument = headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
  return isDocument && method === 'GET' && !API_PATH.test(url.split('?')[0] ?? '')
}

/** The values of `Host` for this name: with the port, and also without it on the default port of HTTP. */
function spellingsOf(host: string, port: string): string[] {
  if (/[^\]]:\d+$|\]:\d+$/.test(host)) return [host]
  return port === HTTP_PORT ? [host, `${host}:${port}`] : [`${host}:${port}`]
}

function forbidden(name: string, detail: string): HttpAnswer {
  const title = `${name.charAt(0).toUpperCase()}${name.slice(1)} does not answer this`
  return problemAnswer('forbidden', 403, title, detail)
}

/** The response of a server, whole. */
export type HttpAnswer = {
  readonly status: number
  readonly headers: Record<string, string | string[]>
  readonly body: Buffer
}

/** Writes the response and returns true, or returns false and leaves the request to the next handler. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => boolean

/** A problem document, as the API itself answers with. */
export function problemAnswer(
  kind: string,
  status: number,
  title: string,
  detail: string,
  more: { readonly headers?: Record<string, string>; readonly members?: object } = {},
): HttpAnswer {
  const problem = { type: `urn:baton:problem:${kind}`, title, status, detail, ...more.members }
  return {
    status,
    headers: { 'content-type': 'application/problem+json', ...more.headers },
    body: Buffer.from(JSON.stringify(problem)),
  }
}

/** Listens on loopback and returns the address. 0 takes a free port. */
export function listen(server: Server, port = 0): Promise<string> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    })
  })
}

/** Closes at once and cuts open connections. */
export function close(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}

/** The method, the path and the query of a request. `new URL` would throw for some targets that a request may have, such as `//`. */
export function targetOf({ method = 'GET', url = '/' }: IncomingMessage) {
  const [path = '/', query = ''] = url.split(/\?(.*)/s)
  return { method, path, query }
}

/** The body; undefined when it is too long. It is read to its end, because a client sees an earlier answer as a broken connection. */
export async function readLimited(request: IncomingMessage, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length
    if (bytes <= bytesMax) chunks.push(chunk as Buffer)
  }
  return bytes <= bytesMax ? Buffer.concat(chunks) : undefined
}

const NO_CONTENT = 204

/** Sends an answer, unless the client has left. */
export function send(response: ServerResponse, { status, headers, body }: HttpAnswer): void {
  if (response.destroyed) return
  response.writeHead(status, { ...headers, ...(status !== NO_CONTENT && { 'content-length': body.length }) })
  response.end(body)
}
