import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** The part of an answer that was read. */
export type GuardedAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Whether the body is longer than what was read. */
  readonly isCut: boolean
}

/** How much of the body is shown in the error of a failed call. */
const ERROR_CHARACTERS = 200

/** Reads an answer until it ends or has more than `bytesMax` bytes; then its connection is closed. */
export async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<GuardedAnswer> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk as Buffer)
    bytes += (chunk as Buffer).length
    // Leaving the loop closes the connection.
    if (bytes > bytesMax) break
  }
  const { statusCode: status = 0, headers } = response
  return { status, headers, body: Buffer.concat(chunks).subarray(0, bytesMax), isCut: bytes > bytesMax }
}

/** Any 2xx; a redirect has delivered nothing. */
export function isSuccess({ status }: GuardedAnswer): boolean {
  return status >= 200 && status < 300
}

/** The error message for an answer that is no success. It shows the beginning of the body on one line. */
export function refusalOf(url: URL, answer: GuardedAnswer): string {
  const { status, headers } = answer
  const answered = `${shownUrl(url)} answered ${status}`
  const target = status >= 300 && status < 400 && headers.location && URL.parse(headers.location, url.href)
  if (!target) return `${answered}: ${textOf(answer, ERROR_CHARACTERS).replace(/\p{Cc}+/gu, ' ')}`
  return `${answered}, a redirect to ${shownUrl(target)}, which is not followed: give the URL that it leads to`
}

/** The beginning of the body as text. A character that a cut goes through is replaced. */
export function textOf({ body }: GuardedAnswer, charactersMax = Number.POSITIVE_INFINITY): string {
  return new TextDecoder().decode(body).slice(0, charactersMax).toWellFormed()
}

/** The part of a URL that errors and logs may show. Its path, query and user may be secrets. */
export function shownUrl({ protocol, host }: URL): string {
  return `${protocol}//${host}`
}
