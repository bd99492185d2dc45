import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

/** The part of an answer that was read. */
export type GuardedAnswer = {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
  /** Whether the body is longer than what was read. */
  readonly isCut: boolean
}

/** How many characters of the body the error of a failed call shows. */
const ERROR_BODY_CHARACTERS_MAX = 200

/** Reads an answer until it ends or exceeds `bytesMax` bytes, and then closes the connection. */
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

/** Accepts any 2xx status. A redirect is not a success, because it has delivered nothing. */
export function isSuccess({ status }: GuardedAnswer): boolean {
  return status >= 200 && status < 300
}

/** Returns the error message for an answer that is not a success. It shows the beginning of the body on one line. */
export function failureMessageOf(url: URL, answer: GuardedAnswer): string {
  const { status, headers } = answer
  const answered = `${shownUrl(url)} answered ${status}`
  const target = status >= 300 && status < 400 && headers.location && URL.parse(headers.location, url.href)
  if (!target) return `${answered}: ${textOf(answer, ERROR_BODY_CHARACTERS_MAX).replace(/\p{Cc}+/gu, ' ')}`
  return `${answered}, a redirect to ${shownUrl(target)}, which is not followed: give the URL that it leads to`
}

/** Returns the beginning of the body as text. A character that the cut splits is replaced. */
export function textOf({ body }: GuardedAnswer, charactersMax = Number.POSITIVE_INFINITY): string {
  return new TextDecoder().decode(body).slice(0, charactersMax).toWellFormed()
}

/** The part of a URL that errors and logs may show. Its path, query and user may be secrets. */
export function shownUrl({ protocol, host }: URL): string {
  return `${protocol}//${host}`
}
