import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { type HttpAnswer, problemAnswer, targetOf } from '../../loopback/loopback.ts'
import { ACCOUNT_ID } from '../account.ts'

/** The path of the stream of events, which has no route in the stack. */
export const EVENTS_PATH = '/v1/events'

/** The caller of a request, in the form in which API Gateway's IAM authorizer passes it to the function. */
export type HttpCaller = {
  readonly accessKey: string
  readonly accountId: string
  readonly userArn: string
}

const textTypes = /^(text\/|application\/(json|javascript|xml|x-www-form-urlencoded)|[^;]+\+(json|xml))/

/**
 * The event of payload format 2.0. An HTTP API decodes the path once, and drops what follows a decoded `?`. The query stays encoded.
 * Observed in events of the service: https://github.com/honojs/hono/issues/2156, https://github.com/middleapi/standard-server/pull/93
 */
export function httpEventOf(request: IncomingMessage, body: Buffer, { match, apiId, caller }: Routed) {
  const { method, path, query: rawQueryString } = targetOf(request)
  const [rawPath = '/'] = decoded(path).split('?')
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
      ...(caller && { authorizer: { iam: caller } }),
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

// Repeated headers are joined by commas, and cookies by semicolons.
function joinedHeaders(request: IncomingMessage): Record<string, string> {
  const entries = Object.entries(request.headersDistinct)
  return Object.fromEntries(
    entries.map(([name, values = []]) => [name, values.join(name === 'cookie' ? '; ' : ',')]),
  )
}

function queryParameters(query: string) {
  const parameters: Record<string, string> = {}
  for (const [name, value] of new URLSearchParams(query))
    parameters[name] = name in parameters ? `${parameters[name]},${value}` : value
  return parameters
}

/** `20/Nov/2026:14:03:09 +0000` */
function accessLogTime(time: Date) {
  const [, day, month, year, clock] = time.toUTCString().split(' ')
  return `${day}/${month}/${year}:${clock} +0000`
}

/** A route of an HTTP API: `GET /v1/tasks/{key}`, `ANY /{proxy+}` or `$default`. */
export type Route = {
  readonly key: string
  readonly functionArn: string
  readonly isSigned?: boolean
  /** Why it is not served here. */
  readonly problem?: string
}

type Routed = { readonly match: RouteMatch; readonly apiId: string; readonly caller: HttpCaller | undefined }

type RouteMatch = { readonly route: Route; readonly parameters: Record<string, string> }

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
  const names: string[] = []
  const pattern = template.replace(TEMPLATE_PART, (text, name?: string, greedy?: string) => {
    if (name === undefined) return `\\${text}`
    names.push(name)
    return greedy ? '(.*)' : '([^/]*)'
  })
  const [found, ...values] = new RegExp(`^${pattern}$`).exec(path) ?? []
  if (found === undefined) return undefined
  return Object.fromEntries(values.map((value, at) => [names[at], value.split('/').map(decoded).join('/')]))
}

/** A variable of a route: `{name}` for one segment of the path, `{name+}` for all that are left. Or a character to escape. */
const TEMPLATE_PART = /\{([^}+]+)(\+?)\}|[.*+?^${}()|[\]\\]/g

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

/** An answer of API Gateway itself: its `message`, in a problem document. */
export function gatewayAnswer(kind: string, status: number, message: string, detail: string): HttpAnswer {
  return problemAnswer(kind, status, message, detail, { members: { message } })
}

export const serverError = gatewayAnswer(
  'internal',
  500,
  'Internal Server Error',
  'the function behind this route failed; its log says why',
)

type Structured = {
  readonly statusCode: number | string
  readonly headers?: Record<string, unknown>
  readonly cookies?: string[]
  readonly body?: unknown
  readonly isBase64Encoded?: boolean
}

/**
 * The response for a function's answer, by the rules of payload format 2.0. An answer with a `statusCode` describes the response.
 * Any other answer is the JSON body of a 200.
 */
export function httpAnswerOf(payload: unknown): HttpAnswer {
  if (!isStructured(payload)) {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
    return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(text) }
  }
  const status = Number(payload.statusCode)
  if (!Number.isInteger(status) || status < 100 || status > 599) return serverError
  const headers = Object.entries(payload.headers ?? {}).map(([name, value]) => [
    name.toLowerCase(),
    String(value),
  ])
  return {
    status,
    headers: {
      'content-type': 'text/plain;charset=UTF-8',
      ...Object.fromEntries(headers),
      ...(payload.cookies?.length ? { 'set-cookie': payload.cookies } : {}),
    },
    body: bodyOf(payload),
  }
}

const isStructured = (payload: unknown): payload is Structured =>
  typeof payload === 'object' && payload !== null && 'statusCode' in payload

function bodyOf({ body, isBase64Encoded }: Structured) {
  if (body === undefined || body === null) return Buffer.alloc(0)
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return Buffer.from(text, isBase64Encoded ? 'base64' : 'utf8')
}
