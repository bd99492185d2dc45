import type { Problem } from '../api/problems.ts'
import { ProblemError } from './problem-error.ts'

type HeaderSource = Readonly<Record<string, string>>

export type ClientSettings = {
  /** The address of the API, such as `http://127.0.0.1:7070`. */
  readonly url: string
  /** Replaces the global `fetch`, for example to sign requests or to use a proxy. @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>
  /** Headers of every request, or a function that the client calls before each request. @default none */
  readonly headers?: HeaderSource | (() => HeaderSource | Promise<HeaderSource>)
}

type Query = Readonly<Record<string, string | number | readonly string[] | undefined>>

export type Send = <Answer>(
  method: string,
  path: string,
  more?: { body?: unknown; query?: Query },
) => Promise<Answer>

/** Sends a request and returns the successful response without reading its body. */
export type Open = (
  method: string,
  path: string,
  more?: { body?: unknown; query?: Query; headers?: HeaderSource; signal?: AbortSignal },
) => Promise<Response>

/** Makes the function that sends requests. It throws `ProblemError` when the answer is not a success, or when no answer arrives. */
export function createOpen({ url, fetch: send = fetch, headers = {} }: ClientSettings): Open {
  const base = url.replace(/\/+$/, '')
  return async (method, path, { body, query, headers: more, signal } = {}) => {
    const request = new Request(`${base}${path}${queryText(query)}`, {
      method,
      headers: {
        ...(typeof headers === 'function' ? await headers() : headers),
        ...more,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
    })
    const response = await send(request).catch(error => {
      throw new ProblemError(noAnswer(method, request.url, error), error)
    })
    if (response.ok) return response
    throw new ProblemError(problemIn(await response.text()) ?? plainFailure(response, `${method} ${path}`))
  }
}

/** Makes the function that sends requests and parses their answers as JSON. */
export function createSend(open: Open): Send {
  return async <Answer>(method: string, path: string, more: { body?: unknown; query?: Query } = {}) => {
    const text = await (await open(method, path, more)).text()
    return (text === '' ? undefined : JSON.parse(text)) as Answer
  }
}

function queryText(query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one): [string, string] => [name, String(one)]),
  )
  return pairs.length === 0 ? '' : `?${new URLSearchParams(pairs)}`
}

/** The problem document in an answer. A gateway or a proxy in front of the API answers without one. */
function problemIn(text: string): Problem | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    const isProblem = typeof parsed === 'object' && parsed !== null && 'status' in parsed && 'title' in parsed
    return isProblem ? (parsed as Problem) : undefined
  } catch {
    return undefined
  }
}

function plainFailure({ status, statusText }: Response, call: string): Problem {
  return {
    type: 'about:blank',
    title: statusText || 'The request failed',
    status,
    detail: `${call} was answered with status ${status}`,
  }
}

function noAnswer(method: string, url: string, error: unknown): Problem {
  const reason = error instanceof Error ? error.message : String(error)
  return {
    type: 'urn:baton:problem:no-answer',
    title: 'No answer',
    status: 0,
    detail: `${method} ${url}: ${reason}`,
  }
}
