/**
 * Calls URLs that publishers chose, for the shipped handlers. Such a URL may name the machine itself, another host of the VPC,
 * or the service that hands out the role's credentials. Four rules prevent such calls.
 *
 * - The host is resolved once. Every address is judged, and the connection goes to those addresses and no others.
 * - Each call opens its own connection and closes it. So no call uses a connection that only another policy permits.
 * - A redirect is returned like any other answer and is not followed.
 * - The timeout covers a call from the look-up of the name to the last byte of the body. The size of the body is bounded.
 *
 * Errors show only the scheme, host and port of a URL.
 */

import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { LookupFunction, Socket } from 'node:net'
import { messageOf } from '../../shared/core/values/values.ts'
import { Fatal } from '../../shared/signals.ts'
import { checkedAddresses, type Policy, type ResolvedAddress } from './checked-addresses.ts'

export type GuardedCall = Policy & {
  readonly method: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly timeoutMs: number
  /** Ends the call when the run is over. */
  readonly signal: AbortSignal
  /** The call reads at most this many bytes of the answer's body, and then closes the connection. */
  readonly bodyBytesMax: number
}

/**
 * Calls the URL and reads its answer, whatever its status.
 *
 * @throws Fatal when no retry can help: the address may not be called, or no request can be made of the URL and the headers.
 * Error when the call fails or takes longer than `timeoutMs`. The signal's reason when the signal aborts.
 */
export async function guardedFetch(url: URL, call: GuardedCall): Promise<GuardedAnswer> {
  const limit = AbortSignal.timeout(call.timeoutMs)
  const signal = AbortSignal.any([limit, call.signal])
  const progress: Progress = { state: 'its name was not resolved yet' }
  try {
    signal.throwIfAborted()
    const addresses = await Promise.race([checkedAddresses(url, call), aborted(signal)])
    progress.state = 'no connection was open yet'
    return await exchange(url, addresses, { ...call, signal }, progress)
  } catch (error) {
    if (call.signal.aborted) throw call.signal.reason
    if (limit.aborted) throw timedOut(url, call.timeoutMs, progress)
    throw error instanceof Fatal ? error : failed(url, error)
  }
}

/** How far the call has come, as text for the error about its timeout. */
type Progress = { state: string }

function exchange(
  url: URL,
  addresses: readonly ResolvedAddress[],
  call: GuardedCall,
  progress: Progress,
): Promise<GuardedAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = requestTo(url, addresses, call)
    let hasAnswered = false
    outgoing.on('socket', socket => followConnection(socket, url, progress))
    outgoing.on('response', response => {
      hasAnswered = true
      progress.state = `its answer ${response.statusCode} had begun and did not end`
      readAnswer(response, call.bodyBytesMax).then(resolve, reject)
    })
    outgoing.on('error', reject)
    // An answer that switches protocols ends here, too: Node closes its connection without any other event.
    outgoing.on('close', () => {
      if (!hasAnswered) reject(new Error('the host closed the connection without an answer'))
    })
    outgoing.end(call.body)
  })
}

/** Opens the request. `agent: false` gives it a connection of its own, which is closed after the call. */
function requestTo(
  url: URL,
  addresses: readonly ResolvedAddress[],
  { method, headers = {}, signal }: GuardedCall,
): ClientRequest {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  const lookup = lookupAmong(addresses)
  try {
    return request(url, { method, headers: { ...headers }, signal, agent: false, lookup })
  } catch (cause) {
    throw new Fatal(`no request can be made for ${shownUrl(url)}: ${messageOf(cause)}`, { cause })
  }
}

/** Resolves every name to the checked addresses. Node does not resolve a host that is an address. */
function lookupAmong(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = addresses
    if (all || !first) callback(null, [...addresses])
    else callback(null, first.address, first.family)
  }
}

function followConnection(socket: Socket, { protocol }: URL, progress: Progress): void {
  socket.once(protocol === 'https:' ? 'secureConnect' : 'connect', () => {
    progress.state = 'it was connected and had not answered'
  })
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}

function timedOut(url: URL, timeoutMs: number, { state }: Progress): Error {
  const error = new Error(`${shownUrl(url)} took longer than ${timeoutMs} ms: ${state}`)
  error.name = 'TimedOut'
  return error
}

function failed(url: URL, cause: unknown): Error {
  return new Error(`the call to ${shownUrl(url)} failed: ${reasonOf(cause)}`, { cause })
}

/** When Node has tried several addresses, its error has one error for each address and no message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join('; ')
  return messageOf(error)
}

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
async function readAnswer(response: IncomingMessage, bytesMax: number): Promise<GuardedAnswer> {
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
