import type { Problem } from '../api/problems.ts'
import { ProblemError } from './problem-error.ts'
import { type Ask, queryText, type Send, type Target, unsendable } from './send.ts'

/** A service in the same process: it takes a request as the HTTP API does. */
type Serve = (request: {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly hasBody: boolean
  readonly readBody: () => Promise<{ readonly ok: true; readonly value: unknown }>
  readonly requestId: string
  readonly principal?: string | undefined
}) => Promise<{ readonly status: number; readonly body?: unknown }>

const IN_PROCESS = 'in-process'

/**
 * Makes the function that sends requests to a service in the same process, so that the calls of the client work on it. Bodies and answers
 * become JSON and back, as over a network. A request is sent once, whatever the options of the call say.
 */
export function sendToService(serve: Serve, principal?: string): Send {
  return async <Answer>([method, path]: Target, { body, query, take }: Ask = {}) => {
    const value = body === undefined ? undefined : asSent(body, `${method} ${path}`)
    const answer = await serve({
      ...{ method, path: decodeURIComponent(path), principal, requestId: IN_PROCESS },
      query: new URLSearchParams(queryText(query)),
      hasBody: value !== undefined,
      readBody: async () => ({ ok: true, value }),
    })
    const shown = answer.body === undefined ? undefined : JSON.parse(JSON.stringify(answer.body))
    if (answer.status >= 400) throw new ProblemError(shown as Problem)
    return (take ? take(shown) : shown) as Answer
  }
}

/** A body as JSON text brings it. @throws ProblemError for one that JSON cannot hold, such as a bigint */
function asSent(body: unknown, what: string): unknown {
  try {
    return JSON.parse(JSON.stringify(body))
  } catch (error) {
    throw unsendable(what, error)
  }
}
