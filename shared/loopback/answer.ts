import type { IncomingMessage, ServerResponse } from 'node:http'

/** The response of a server, whole. */
export type HttpAnswer = {
  readonly status: number
  readonly headers: Record<string, string | string[]>
  readonly body: Buffer
}

/** Writes the response and returns true, or returns false and leaves the request to the next handler. */
export type RequestHandler = (request: IncomingMessage, response: ServerResponse) => boolean

/** A problem document, like those of the API itself. */
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
