import type { Problem } from '../api/problems.ts'
import { clientProblem, ProblemError } from './problem-error.ts'
import { pauseAfter, pauseFor, type Repetition, startTimeLimit, type TimeLimit } from './repetition.ts'

type HeaderSource = Readonly<Record<string, string>>

export type ClientSettings = {
  /** The address of the API. @default `BATON_URL` of the environment, else the local system at `http://127.0.0.1:7070` */
  readonly url?: string
  /** Replaces the global `fetch`: `signedFetch()` of `baton-tasks/aws`, or one that uses a proxy. @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>
  /** Headers of every request, or a function that the client calls before each request. @default none */
  readonly headers?: HeaderSource | (() => HeaderSource | Promise<HeaderSource>)
  /** The bearer token of every request, or a function that the client calls before each request. @default none */
  readonly token?: string | (() => string | Promise<string>)
  /** How long a call may take, with its repetitions, in milliseconds. @default 30,000 */
  readonly timeoutMs?: number
  /** How often a request is sent at most: see `CallOptions`. @default 5 */
  readonly tries?: number
}

/** Options of one call. They replace the options of the client. */
export type CallOptions = {
  /** Ends the call when it aborts: it throws `ProblemError` with the code `aborted`. @default only `timeoutMs` ends it */
  readonly signal?: AbortSignal
  /** How long the call may take, with its repetitions, in milliseconds. @default the client's time */
  readonly timeoutMs?: number
  /**
   * How often the request is sent at most. It is sent again, after a pause that grows, when the API refuses it for now (429), and when an
   * outage hides what became of it and a second request does no harm. @default the client's setting
   */
  readonly tries?: number
}

type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>

/** A request, and what the client may do about it. */
export type Ask = Repetition & {
  readonly body?: unknown
  readonly query?: Query | undefined
  readonly headers?: HeaderSource
  /** Whether a 404 means success if the request was sent before: the first one has removed it. */
  readonly isDoneIfGone?: boolean
  /** Takes each answer. It may throw a `ProblemError`, which counts as the answer's problem. */
  readonly take?: (answer: unknown) => unknown
  readonly call?: CallOptions | undefined
}

/** Where a request goes: its method and its path, as `targetOf` names them. */
export type Target = readonly [method: string, path: string]

export type Send = <Answer>(target: Target, ask?: Ask) => Promise<Answer>

/** Sends a request once and returns the successful response without reading its body. The time limit ends with its first byte. */
export type Open = (target: Target, ask?: Ask) => Promise<Response>

const LOCAL_URL = 'http://127.0.0.1:7070'
const DEFAULT_TIMEOUT_MS = 30_000
const DEFAULT_TRIES = 5

/** Makes the functions that send requests. Both throw `ProblemError` when the answer is not a success, or when no answer arrives. */
export function createTransport(settings: ClientSettings): { readonly open: Open; readonly send: Send } {
  const { timeoutMs = DEFAULT_TIMEOUT_MS, tries = DEFAULT_TRIES } = settings
  const request = createRequests(settings)
  const limitOf = ({ call }: Ask) => startTimeLimit(call?.timeoutMs ?? timeoutMs, call?.signal)
  const open: Open = (target, ask = {}) => {
    const limit = limitOf(ask)
    return request(target, ask, limit).finally(limit.stopClock)
  }
  const send: Send = <Answer>(target: Target, ask: Ask = {}) => {
    const limit = limitOf(ask)
    const once = () => request(target, ask, limit, answerIn).then(ask.take)
    const answer = repeated(once, ask, ask.call?.tries ?? tries, limit) as Promise<Answer>
    return answer.finally(limit.stopClock)
  }
  return { open, send }
}

/** Tries until the answer is a success, or another try would not help or take too long. */
async function repeated(
  once: () => Promise<unknown>,
  ask: Ask,
  tries: number,
  limit: TimeLimit,
): Promise<unknown> {
  let isUncertain = false
  for (let nth = 1; ; nth++) {
    try {
      return await once()
    } catch (error) {
      const isMissing = error instanceof ProblemError && error.status === 404
      if (isUncertain && ask.isDoneIfGone && isMissing) return undefined
      const pause = nth < tries ? pauseAfter(error, nth, ask) : undefined
      await pauseOrThrow(error, pause?.ms, limit)
      isUncertain ||= pause?.isUncertain ?? false
    }
  }
}

async function pauseOrThrow(error: unknown, ms: number | undefined, limit: TimeLimit): Promise<void> {
  if (ms === undefined || ms >= limit.leftMs()) throw error
  await pauseFor(ms, limit.signal)
}

async function answerIn(response: Response, call: string): Promise<unknown> {
  const text = await response.text()
  try {
    return text === '' ? undefined : JSON.parse(text)
  } catch (error) {
    const detail = `${call} was answered with ${text.slice(0, 100)}`
    throw clientProblem('bad-answer', { title: 'No answer', status: 0, detail }, error)
  }
}

function createRequests({ url, fetch: send = fetch, headers = {}, token }: ClientSettings) {
  const base = (url ?? urlOfEnvironment() ?? LOCAL_URL).replace(/\/+$/, '')
  async function responseTo([method, path]: Target, ask: Ask, signal: AbortSignal): Promise<Response> {
    if (!URL.canParse(base)) throw noUrl(base)
    const { body, query, headers: more } = ask
    const bearer = typeof token === 'function' ? await token() : token
    const given = {
      ...(typeof headers === 'function' ? await headers() : headers),
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...more,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const request = requestOf(`${base}${path}${queryText(query)}`, { method, headers: given, signal }, body)
    const response = await send(request)
    if (response.ok) return response
    throw new ProblemError(problemOf(response, await response.text(), `${method} ${path}`, send !== fetch))
  }
  // What the functions of the caller throw, and a body that breaks off, become problems, too.
  return async <Answer = Response>(
    target: Target,
    ask: Ask,
    limit: TimeLimit,
    read = async (response: Response, _call: string) => response as Answer,
  ): Promise<Answer> => {
    try {
      return await read(await responseTo(target, ask, limit.signal), target.join(' '))
    } catch (error) {
      const [method, path] = target
      throw limit.problemOf(error, `${method} ${base}${path}`)
    }
  }
}

/** @throws ProblemError for a body that JSON cannot hold, such as a bigint, and for a header that no request may have */
function requestOf(url: string, init: RequestInit & { readonly method: string }, body: unknown): Request {
  try {
    return new Request(url, body === undefined ? init : { ...init, body: JSON.stringify(body) })
  } catch (error) {
    throw unsendable(`${init.method} ${url}`, error)
  }
}

/** The error of a request that cannot be made from what the caller gave. */
export function unsendable(what: string, error: unknown): ProblemError {
  const detail = `${what} cannot be sent: ${(error as Error).message}`
  return clientProblem('invalid', { title: 'The request is not valid', status: 400, detail }, error)
}

/** The address in the environment. Browsers have no environment. */
function urlOfEnvironment(): string | undefined {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  return process?.env?.BATON_URL || undefined
}

function noUrl(url: string): ProblemError {
  const detail = `url: '${url}' is not a URL such as ${LOCAL_URL}`
  return clientProblem('invalid', { title: 'No address', status: 0, detail })
}

/** Writes a space as `%20`: a signature covers the query, and services read `+` in different ways. */
export function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`.replaceAll('+', '%20')
}

/** The problem document in an answer. A gateway or a proxy in front of the API answers without one. */
function problemOf(response: Response, text: string, call: string, isOwnFetch: boolean): Problem {
  const retryAfterMs = retryAfterMsIn(response.headers)
  return {
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(problemIn(text) ?? plainFailure(response, call, isOwnFetch)),
  }
}

function problemIn(text: string): Problem | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    const isProblem = typeof parsed === 'object' && parsed !== null && 'status' in parsed && 'title' in parsed
    return isProblem ? (parsed as Problem) : undefined
  } catch {
    return undefined
  }
}

function retryAfterMsIn(headers: Headers): number | undefined {
  const text = headers.get('retry-after')
  if (!text) return undefined
  const seconds = Number(text)
  const ms = Number.isNaN(seconds) ? Date.parse(text) - Date.now() : seconds * 1_000
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

function plainFailure({ status, statusText }: Response, call: string, isOwnFetch: boolean): Problem {
  const hint = status === 401 || status === 403 ? REFUSED_CALLER[isOwnFetch ? 'own' : 'plain'] : ''
  return {
    type: 'about:blank',
    title: statusText || 'Refused',
    status,
    detail: `${call} was answered with ${status}${hint}`,
  }
}

const REFUSED_CALLER = {
  plain: '; a deployed API requires a token, or fetch: signedFetch() of baton-tasks/aws',
  own: '; check the credentials, their permission, and the clock',
}
