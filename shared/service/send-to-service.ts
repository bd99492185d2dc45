import type { Problem } from '../api/problems.ts'
import { ProblemError } from '../client/problem-error.ts'
import { type Ask, queryText, type Send, type Target, unsendable } from '../client/send.ts'
import { REQUEST_BYTES_MAX } from '../core/bounds.ts'
import { BatonError, textBytes } from '../core/values/values.ts'
import { problemOfError, tooLargeBody } from './present/problems.ts'
import type { ReadBody, Service } from './service.ts'

const IN_PROCESS = 'in-process'

/**
 * Makes the function that sends requests to a service in the same process, so that the calls of the client work on it. Bodies and answers
 * become JSON and back, as over a network. A request is sent once, whatever the options of the call say.
 *
 * It throws `ProblemError` for refusals and for errors with a code of Baton, and all other errors as they are.
 */
export function sendToService(serve: Service, principal?: string): Send {
  return async <Answer>([method, path]: Target, { body, query, take }: Ask = {}) => {
    const text = body === undefined ? undefined : textOf(body, `${method} ${path}`)
    const answer = await serve({
      ...{ method, path: decodeURIComponent(path), principal, requestId: IN_PROCESS },
      query: new URLSearchParams(queryText(query)),
      hasBody: text !== undefined,
      readBody: async () => readText(text),
    }).catch(asProblem)
    const shown = answer.body === undefined ? undefined : JSON.parse(JSON.stringify(answer.body))
    if (answer.status >= 400) throw new ProblemError(shown as Problem)
    return (take ? take(shown) : shown) as Answer
  }
}

/** @throws ProblemError for a body that JSON cannot hold, such as a bigint */
function textOf(body: unknown, what: string): string {
  try {
    return JSON.stringify(body)
  } catch (error) {
    throw unsendable(what, error)
  }
}

function readText(text: string | undefined): ReadBody {
  if (text === undefined) return { ok: true, value: undefined }
  if (textBytes(text) > REQUEST_BYTES_MAX) return { ok: false, problem: tooLargeBody() }
  return { ok: true, value: JSON.parse(text) }
}

/** Throws an error that the code knows as a problem, as the client of the HTTP API throws it. */
export function asProblem(error: unknown): never {
  if (!(error instanceof BatonError)) throw error
  const { requestId: _none, ...problem } = problemOfError(error, '')
  throw new ProblemError({ ...problem, detail: error.message }, error)
}
