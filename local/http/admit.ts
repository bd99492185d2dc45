import type { IncomingMessage } from 'node:http'
import { type HttpAnswer, problemAnswer } from './answer.ts'

/** Why a request is not answered; undefined: it is. */
export type Admit = (request: IncomingMessage) => HttpAnswer | undefined

const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
/** What a browser says of requests that the API's own pages send, and of addresses that a person has typed. */
const OWN_SITES = ['same-origin', 'none']
const HTTP_PORT = '80'

/**
 * Keeps web pages out that the developer's browser shows. A page of another origin names its origin, or its browser says that
 * it is of another site, with every request, preflights included. A page whose host name was pointed at this machine
 * (DNS rebinding) counts as the same origin, but it sends that name as the host. Programs send none of these headers
 * but `Host`.
 */
export function admitting(port: string, allowedHosts: readonly string[]): Admit {
  const hosts = new Set([...LOOPBACK, ...allowedHosts].flatMap(host => spellingsOf(host.toLowerCase(), port)))
  const known = [...hosts].join(', ')

  return ({ headers }) => {
    const host = (headers.host ?? '').toLowerCase()
    if (!hosts.has(host)) {
      const asked = host === '' ? 'without a host' : `for the host ${host}`
      return forbidden(
        `the local system answers requests for ${known}, and this one is ${asked}; --allow-host NAME adds a name`,
      )
    }
    const { origin, 'sec-fetch-site': site } = headers
    if (origin !== undefined && origin.toLowerCase() !== `http://${host}`)
      return forbidden(`a page of ${origin} must not use the local system`)
    if (site !== undefined && !OWN_SITES.includes(String(site)))
      return forbidden(`a page of another site must not use the local system (Sec-Fetch-Site: ${site})`)
    return undefined
  }
}

/** As it stands in `Host`: with the port, unless that is the one of HTTP. */
function spellingsOf(host: string, port: string): string[] {
  if (/[^\]]:\d+$|\]:\d+$/.test(host)) return [host]
  return port === HTTP_PORT ? [host, `${host}:${port}`] : [`${host}:${port}`]
}

function forbidden(detail: string): HttpAnswer {
  return problemAnswer('forbidden', 403, 'The local system does not answer this', detail)
}
