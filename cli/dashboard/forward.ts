import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { API_PATH, type HttpAnswer, problemAnswer, readLimited, send } from '../../loopback/loopback.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { explainedRefusal, isRefusal, isUnexplainedRefusal } from '../aws/refusal.ts'
import type { System } from '../connection/connection.ts'
import { fetchFailureOf } from '../terminal/io.ts'

/** The API takes bodies of 4 MB. */
const BODY_BYTES_MAX = 5 * 1024 * 1024
/** The answers of the API stay below 6,291,556 bytes. */
const ANSWER_BYTES_MAX = 10 * 1024 * 1024
/** API Gateway answers within 30 s. */
const TIMEOUT_MS = 35_000
const EVENTS_PATH = '/v1/events'
const READS = ['GET', 'HEAD']
/** The headers that go to the system. The cookie stays here. */
const SENT_HEADERS = ['accept', 'content-type', 'last-event-id']
const RETURNED_HEADERS = ['content-type', 'location', 'retry-after']

export type Forwarding = {
  readonly isReadOnly: boolean
  readonly system: Pick<System, 'url' | 'fetch'>
  /** Reports to the operator why the system refuses calls. */
  report(reason: string): void
}

type Forward = (request: IncomingMessage, response: ServerResponse) => Promise<void>

/** Makes the function that sends a call of the API to the system and answers with its answer. It never throws. */
export function createForward({ system, isReadOnly, report }: Forwarding): Forward {
  const reportRefusal = createRefusalReporter(report)
  return async (request, response) => {
    const path = pathOf(request)
    const reported = (answer: HttpAnswer) => {
      reportRefusal({ method: request.method ?? 'GET', path }, answer)
      return answer
    }
    const refusal = refusalOf(request, path, isReadOnly)
    if (refusal) return send(response, refusal)
    const leaving = leavingWith(response)
    try {
      const body = await readLimited(request, BODY_BYTES_MAX)
      if (body === undefined) return send(response, tooLarge)
      const answer = await system.fetch(requestFor(request, system.url + path, body, leaving.signal))
      if (!isEventStream(path, answer))
        return send(response, reported(withReason(await wholeAnswer(answer), system.url)))
      leaving.stopClock()
      await stream(answer, response)
    } catch (error) {
      refuse(response, reported(noAnswer(system.url, leaving.signal.reason ?? error)))
    } finally {
      leaving.stopClock()
    }
  }
}

function isEventStream(path: string, { ok }: Response): boolean {
  return ok && path.split('?')[0] === EVENTS_PATH
}

function refuse(response: ServerResponse, answer: HttpAnswer): void {
  if (response.headersSent) response.destroy()
  else send(response, answer)
}

/** Aborts the call of the system when the browser leaves, or when the answer is not there in time. */
function leavingWith(response: ServerResponse): { readonly signal: AbortSignal; stopClock(): void } {
  const controller = new AbortController()
  const late = () => controller.abort(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`))
  const timer = setTimeout(late, TIMEOUT_MS)
  response.once('close', () => controller.abort())
  return { signal: controller.signal, stopClock: () => clearTimeout(timer) }
}

/** The path and the query, with all dot segments resolved; empty for what is not a path. */
function pathOf({ url = '/' }: IncomingMessage): string {
  if (!url.startsWith('/') || url.startsWith('//') || !URL.canParse(url, 'http://system')) return ''
  const { pathname, search } = new URL(url, 'http://system')
  return pathname + search
}

function refusalOf(
  { method = 'GET' }: IncomingMessage,
  path: string,
  isReadOnly: boolean,
): HttpAnswer | undefined {
  if (!API_PATH.test(path.split('?')[0] ?? '')) return noPath
  return isReadOnly && !READS.includes(method) ? readOnly : undefined
}

const noPath = problemAnswer(
  'not-found',
  404,
  'Not Found',
  'the dashboard passes on calls of /v1 and /healthz, and has no such page',
)

const readOnly = problemAnswer(
  'forbidden',
  403,
  'This dashboard only reads',
  'it was started with --read-only, which refuses every change; start it without that',
)

const tooLarge = problemAnswer('too-large', 413, 'Too large', 'the request has more than 5 MB')

/** Without credentials no call leaves this machine. The operator must log in; a repetition fails again. */
function noAnswer(url: string, error: unknown): HttpAnswer {
  if (error instanceof BatonError && error.code === 'misconfigured')
    return problemAnswer('unauthorized', 401, 'The dashboard has no AWS credentials', error.message)
  return problemAnswer('unavailable', 503, 'The system does not answer', `${url}: ${fetchFailureOf(error)}`)
}

function requestFor(
  { method = 'GET', headers }: IncomingMessage,
  url: string,
  body: Buffer,
  signal: AbortSignal,
): Request {
  const sent = SENT_HEADERS.flatMap(name =>
    headers[name] === undefined ? [] : [[name, String(headers[name])]],
  )
  return new Request(url, {
    method,
    headers: Object.fromEntries(sent),
    redirect: 'manual',
    signal,
    ...(body.length > 0 && { body: new Uint8Array(body) }),
  })
}

async function wholeAnswer(answer: Response): Promise<HttpAnswer> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of answer.body ?? []) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error('its answer has more than 10 MB')
    chunks.push(chunk)
  }
  return { status: answer.status, headers: headersOf(answer), body: Buffer.concat(chunks) }
}

function headersOf({ headers }: Response): Record<string, string> {
  const returned = RETURNED_HEADERS.flatMap(name => {
    const value = headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  return { ...Object.fromEntries(returned), 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
}

/** Passes the events on as they come, until one side ends. */
async function stream(answer: Response, response: ServerResponse): Promise<void> {
  response.writeHead(answer.status, { ...headersOf(answer), 'cache-control': 'no-cache, no-transform' })
  response.flushHeaders()
  if (answer.body) await pipeline(Readable.fromWeb(answer.body as never), response)
}

/** A refusal of the caller as the page can show it. One that the system or `cli/aws/explain-refusal.ts` explains stays as it is. */
function withReason(answer: HttpAnswer, url: string): HttpAnswer {
  const { status, headers } = answer
  if (!isUnexplainedRefusal(status, String(headers['content-type']))) return answer
  const advice = 'check BATON_TOKEN, or start baton dashboard again with --stack or --profile'
  const detail = `${url} answers ${status} and does not say why: ${advice}`
  return explainedRefusal(status, 'The system refuses your calls', detail)
}

type PageCall = { readonly method: string; readonly path: string }

const ERROR_STATUS_MIN = 400

/**
 * Reports in the terminal why calls are refused: once for each reason, because the page asks several paths again and again. A
 * reason is reported again after one of the calls that were refused for it has succeeded.
 */
function createRefusalReporter(
  report: (reason: string) => void,
): (call: PageCall, answer: HttpAnswer) => void {
  /** The calls that were refused for each reason. */
  const reported = new Map<string, Set<string>>()
  const forget = (call: string) => {
    for (const [reason, calls] of reported) if (calls.has(call)) reported.delete(reason)
  }
  return ({ method, path }, answer) => {
    const [pathname = ''] = path.split('?')
    const call = `${method} ${pathname}`
    if (answer.status < ERROR_STATUS_MIN) forget(call)
    if (!isRefusal(answer.status)) return
    const text = textOf(answer)
    // The reason of a missing permission names the call.
    const reason = text.replaceAll(pathname, '')
    const calls = reported.get(reason)
    if (!calls) report(text)
    reported.set(reason, new Set(calls).add(call))
  }
}

function textOf({ body }: HttpAnswer): string {
  const { title, detail } = JSON.parse(body.toString()) as { readonly title: string; readonly detail: string }
  return `${title}: ${detail}`
}
