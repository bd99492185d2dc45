/**
 * API Gateway's HTTP API. It admits a request (`loopback/loopback.ts`), identifies the caller by the signature (`caller.ts`), finds the
 * route, writes the function's event, and sends its answer (`event.ts`). The dashboard has the same address (`loopback/pages.ts`).
 */

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer, STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Admit, HttpAnswer, RequestHandler } from '../../loopback/loopback.ts'
import {
  ARRIVAL,
  type ArrivalBounds,
  admitting,
  close,
  listen,
  problemAnswer,
  readLimited,
  send,
  targetOf,
} from '../../loopback/loopback.ts'
import { servePages } from '../../loopback/pages.ts'
import { nameOfArn } from '../account.ts'
import type { Functions } from '../functions/functions.ts'
import { newTrace } from '../functions/lineage.ts'
import { EVENT_BYTES_MAX, payloadBytes } from '../functions/sandbox.ts'
import type { Meter } from '../gateway/meter.ts'
import type { Permissions } from '../permissions/permissions.ts'
import { type Authentication, callerOf, mayInvoke } from './caller.ts'
import type { HttpCaller, Route } from './event.ts'
import { EVENTS_PATH, findRoute, gatewayAnswer, httpAnswerOf, httpEventOf, serverError } from './event.ts'
import { answeringCors, corsAdmits, type Routes, type Serve } from './routes.ts'

/** Limits of an HTTP API: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-quotas.html */
const BODY_BYTES_MAX = 10 * 1024 * 1024
const TIMEOUT_MS = 30_000
/** Every started 512 KB of a request is billed as one request. */
const BILLED_CHUNK_BYTES = 512 * 1024

export type ApiServer = Awaited<ReturnType<typeof startApiServer>>

export type Served = {
  readonly routes: Routes
  readonly functions: Functions
  readonly meter: Meter
  readonly permissions: Permissions
  /** The stream of events. It has no route in the stack. */
  readonly stream?: RequestHandler
  partsDown(): Promise<readonly string[]>
}

const tooLarge = gatewayAnswer(
  'too-large',
  413,
  'Request Entity Too Large',
  'the request is larger than API Gateway or Lambda takes',
)
const unavailable = (detail: string) => gatewayAnswer('unavailable', 503, 'Service Unavailable', detail)
const starting = unavailable('the system is still starting')
const noRoute = gatewayAnswer('not-found', 404, 'Not Found', 'no route of the API fits this method and path')

/** The answer of API Gateway to a request whose sender it does not recognise. It does not say why. */
const unauthenticated: HttpAnswer = {
  status: 403,
  headers: { 'content-type': 'application/json', 'x-amzn-errortype': 'ForbiddenException' },
  body: Buffer.from('{"message":"Forbidden"}'),
}

const forbidden = gatewayAnswer(
  'forbidden',
  403,
  'Forbidden',
  'the role that signed the request may not call this route',
)

export type ApiSettings = {
  readonly port: number
  readonly allowedHosts: readonly string[] | undefined
  readonly dashboardDir: string | undefined
  readonly costs: RequestHandler | undefined
  readonly authentication: Authentication
  readonly log: (line: string) => void
  readonly arrival?: ArrivalBounds
}

/** Listens for the HTTP API at once, because functions' environments contain its address. */
export async function startApiServer(settings: ApiSettings) {
  const { port, allowedHosts = [], dashboardDir, costs, arrival = ARRIVAL } = settings
  const pages = dashboardDir === undefined ? undefined : servePages(dashboardDir)
  let serve: Serve = async () => starting
  let stream: RequestHandler | undefined
  let admit: Admit = () => starting
  let cors: NonNullable<Routes['own']>['cors']
  const server: Server = createServer(arrival, (request, response) => {
    // Pages that the CORS settings of the API admit are not foreign.
    const isAdmitted = corsAdmits(cors, request)
    const refusal = admit(isAdmitted ? { headers: { host: request.headers.host } } : request)
    if (refusal) return send(response, refusal)
    if ([stream, costs, pages].some(handle => handle?.(request, response))) return
    readLimited(request, BODY_BYTES_MAX)
      .then(body => (body ? serve(request, body) : tooLarge))
      .catch(() => serverError)
      .then(answer => send(response, answer))
  })
  server.keepAliveTimeout = 0
  server.on('clientError', answerUnreadable)
  const url = await listen(server, port).catch(explainPort(port))
  admit = admitting(new URL(url).port || '80', allowedHosts)
  return {
    url,
    /** Serves these routes from now on. Before the first ones every request is answered with 503. */
    serve: (served: Served) => {
      const { own } = served.routes
      cors = own?.cors
      const routed = createServe(served, settings)
      const answered = own ? routed : answeringHealth(served, routed)
      serve = cors ? answeringCors(cors, answered) : answered
      stream = served.stream && admitted(served.stream, served, settings)
    },
    stop: () => close(server),
  }
}

/** The status of what cannot be read as a request, by Node's code. All else is a bad request. */
const UNREADABLE_STATUS: Readonly<Record<string, number>> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

/** The socket of a request. While Node writes a response to it, the socket names that response. */
type RequestSocket = Duplex & { readonly _httpMessage?: ServerResponse | null }

/**
 * Answers what cannot be read as a request, in the form of API Gateway. Node would answer without a body. When a response has begun,
 * such as a stream of events, a second answer would be inside its body. So the connection ends, as Node ends it.
 */
function answerUnreadable({ code = '' }: NodeJS.ErrnoException, socket: RequestSocket): void {
  const hasBegun = socket._httpMessage?.headersSent === true
  if (code === 'ECONNRESET' || !socket.writable || hasBegun) return void socket.destroy()
  const status = UNREADABLE_STATUS[code] ?? 400
  const body = JSON.stringify({ message: STATUS_CODES[status] })
  const headers = `content-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close`
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n\r\n${body}`)
}

function explainPort(port: number) {
  return (cause: NodeJS.ErrnoException): never => {
    if (cause.code !== 'EADDRINUSE') throw cause
    throw new Error(`Port ${port} is taken; choose another one (PORT=…), or 0 for any`, { cause })
  }
}

/** Gives the stream to senders that may read it. A request of a sender that is not recognised is left to the routes, which refuse it. */
function admitted(
  stream: RequestHandler,
  { permissions, routes: { apiId } }: Served,
  { authentication }: ApiSettings,
): RequestHandler {
  return (request, response) => {
    const { method, path } = targetOf(request)
    if (path !== EVENTS_PATH) return false
    const caller = callerOf(request, Buffer.alloc(0), permissions, authentication)
    if ('reason' in caller) return false
    if (mayInvoke(caller, { method, path, apiId }, permissions)) return stream(request, response)
    send(response, forbidden)
    return true
  }
}

function createServe(served: Served, settings: ApiSettings): Serve {
  const { routes, functions, meter } = served
  return async (request, body) => {
    const { method, path } = targetOf(request)
    const match = findRoute(routes.routes, method, path)
    if (!match) return noRoute
    const { key, functionArn } = match.route
    const usageKey = { caller: 'client', service: 'execute-api', operation: 'Request', resource: key }
    const usage = { calls: 1, requests: Math.max(1, Math.ceil(body.length / BILLED_CHUNK_BYTES)) }
    meter.add(usageKey, usage)
    const caller = calling(request, body, match.route, served, settings)
    if (caller && 'status' in caller) return caller
    const event = httpEventOf(request, body, { match, apiId: routes.apiId, caller })
    // Lambda refuses such an event with 413, and the API answers with the same status.
    if (payloadBytes(event) >= EVENT_BYTES_MAX) return tooLarge
    const invoke = (trace: string) => functions.find(functionArn).invoke(event, trace)
    const { result, owners } = await following(request, meter, trace => within(TIMEOUT_MS, invoke(trace)))
    meter.charge(usageKey, usage, owners)
    if (!result)
      return unavailable(`${nameOfArn(functionArn)} has not answered within ${TIMEOUT_MS / 1_000} s`)
    return result.ok ? httpAnswerOf(result.payload) : serverError
  }
}

/** The caller of a route, or the answer that refuses it. Undefined for a route that everybody may call. */
function calling(
  request: IncomingMessage,
  body: Buffer,
  { isSigned, problem }: Route,
  { routes: { own, apiId }, permissions }: Served,
  { authentication, log }: ApiSettings,
): HttpCaller | HttpAnswer | undefined {
  if (problem !== undefined) return gatewayAnswer('not-implemented', 501, 'Not Implemented', problem)
  if (own && !isSigned) return undefined
  const { method, path } = targetOf(request)
  const caller = callerOf(request, body, permissions, authentication)
  if ('reason' in caller) {
    log(JSON.stringify({ level: 'WARN', message: 'a request was refused', method, path, ...caller }))
    return unauthenticated
  }
  return mayInvoke(caller, { method, path, apiId }, permissions) ? caller : forbidden
}

/** Does the work of a request, and finds the tasks that it is for. */
async function following<Result>(
  request: IncomingMessage,
  { owners }: Meter,
  work: (trace: string) => Promise<Result>,
): Promise<{ readonly result: Result; readonly owners: readonly string[] }> {
  const trace = request.headers['x-amzn-trace-id']?.toString() ?? newTrace()
  const followed = owners.follow(trace, isReadByDashboard(request))
  try {
    const result = await work(trace)
    return { result, owners: followed.end() }
  } finally {
    // The next request may bring the same trace, so failed work ends its notes, too.
    followed.end()
  }
}

/** Whether a page of this address reads, which is the dashboard. What it shows does not become more expensive by being shown. */
function isReadByDashboard({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['sec-fetch-site'] === 'same-origin'
}

/** Answers `/healthz` with the parts that are down. While all parts run, the route's function answers; it reads no store. */
function answeringHealth({ partsDown }: Served, serve: Serve): Serve {
  return async (request, body) => {
    const down = targetOf(request).path === '/healthz' ? await partsDown() : []
    return down.length > 0 ? unhealthyAnswer(down) : serve(request, body)
  }
}

function unhealthyAnswer(down: readonly string[]): HttpAnswer {
  const detail = `not running at the moment: ${down.join(', ')}`
  const more = { headers: { 'retry-after': '1' }, members: { down } }
  return problemAnswer('unavailable', 503, 'A part of the local system is down', detail, more)
}

/** The value, or `undefined` after `ms`. */
function within<T>(ms: number, value: Promise<T>): Promise<T | undefined> {
  const { promise, resolve } = Promise.withResolvers<undefined>()
  const timer = setTimeout(resolve, ms, undefined)
  return Promise.race([value, promise]).finally(() => clearTimeout(timer))
}
