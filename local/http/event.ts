import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { ACCOUNT_ID } from '../account.ts'
import type { HttpCaller } from './caller.ts'
import { decoded, type RouteMatch } from './routes.ts'

const textTypes = /^(text\/|application\/(json|javascript|xml|x-www-form-urlencoded)|[^;]+\+(json|xml))/

/**
 * The event of payload format 2.0. An HTTP API decodes the path once, and drops what follows a decoded `?`. The query stays
 * encoded. Observed in events of the service: https://github.com/honojs/hono/issues/2156,
 * https://github.com/middleapi/standard-server/pull/93
 */
export function httpEventOf(
  request: IncomingMessage,
  body: Buffer,
  {
    match,
    apiId,
    caller,
  }: { readonly match: RouteMatch; readonly apiId: string; readonly caller: HttpCaller },
) {
  const { method = 'GET', url = '/' } = request
  const [path = '/', rawQueryString = ''] = splitQuery(url)
  const [rawPath = '/'] = splitQuery(decoded(path))
  const { cookie, ...headers } = joinedHeaders(request)
  const now = new Date()
  const domainName = headers.host ?? 'localhost'
  return {
    version: '2.0',
    routeKey: match.route.key,
    rawPath,
    rawQueryString,
    ...(cookie ? { cookies: cookie.split(/;\s*/) } : {}),
    headers,
    ...(rawQueryString ? { queryStringParameters: queryParameters(rawQueryString) } : {}),
    requestContext: {
      accountId: ACCOUNT_ID,
      apiId,
      authorizer: { iam: caller },
      domainName,
      domainPrefix: apiId,
      http: {
        method,
        path: rawPath,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.socket.remoteAddress ?? '127.0.0.1',
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: randomUUID(),
      routeKey: match.route.key,
      stage: '$default',
      time: accessLogTime(now),
      timeEpoch: now.getTime(),
    },
    ...(Object.keys(match.parameters).length > 0 ? { pathParameters: match.parameters } : {}),
    ...bodyPart(body, headers),
  }
}

function bodyPart(body: Buffer, headers: Record<string, string>) {
  if (body.length === 0) return { isBase64Encoded: false }
  const encoded = headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity'
  const isText = !encoded && textTypes.test(headers['content-type'] ?? '')
  return { body: body.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText }
}

function splitQuery(url: string) {
  const at = url.indexOf('?')
  return at < 0 ? [url, ''] : [url.slice(0, at), url.slice(at + 1)]
}

// Repeated headers are joined by commas, and cookies by semicolons.
function joinedHeaders(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headersDistinct)
  return Object.fromEntries(
    entries.map(([name, values = []]) => [name, values.join(name === 'cookie' ? '; ' : ',')]),
  )
}

function queryParameters(query: string) {
  const parameters: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query)) {
    parameters[name] = name in parameters ? `${parameters[name]},${value}` : value
  }
  return parameters
}

/** `20/Nov/2026:14:03:09 +0000` */
function accessLogTime(time: Date) {
  const [, day, month, year, clock] = time.toUTCString().split(' ')
  return `${day}/${month}/${year}:${clock} +0000`
}
