/** One call of an AWS service by a client of the SDK, sent by the `fetch` of the command line, and the messages for its failure. */

import { searchOf } from '../../shared/client/signed/request-parts.ts'
import { BatonError, messageOf } from '../../shared/core/values/values.ts'
import { fetchFailureOf, type Io } from '../terminal/io.ts'
import { credentialFaultIn, credentialTexts, type LoadCredentials } from './access.ts'

/** The region and the credentials of calls. */
export type Access = {
  readonly region: string
  readonly credentials: LoadCredentials
  readonly io: Pick<Io, 'env' | 'fetch'>
  readonly profile?: string
}

/** The profile of the user: given, else of the environment. */
export function profileOf({ profile, io }: Access): string | undefined {
  return profile ?? (io.env.AWS_PROFILE || undefined)
}

/** A call by its permission, such as `sqs:GetQueueAttributes`. */
type CallName = `${'cloudformation' | 'cloudwatch' | 'lambda' | 'sqs' | 'ssm' | 'sts'}:${string}`

function namesOf(call: CallName) {
  const [prefix = '', action = ''] = call.split(':')
  return { service: prefix === 'cloudwatch' ? 'monitoring' : prefix, action }
}

/**
 * Why a service refused a call: its code, such as `AccessDenied`, and its message. For a page of a proxy the code is `status 403`, and the
 * message is the beginning of the page.
 */
export type Refusal = { readonly status: number; readonly code: string; readonly message: string }

/** A success has its document under `found`. */
type Answer<Document> = { readonly found: Document } | { readonly refusal: Refusal }

const TIMEOUT_MS = 10_000
const TRIES = 4
const TOO_MANY_REQUESTS = 429

/** What a client of the SDK is made with. */
export type Settings = ReturnType<typeof settingsFor>

/** The answer that refused the last try of a call, if it is not an error document of the service. */
type LastTry = { page?: Refusal | undefined }

/**
 * Sends a call by the client that `send` makes. The client sends it again while the service is busy.
 *
 * @throws BatonError `unavailable` when the service does not answer in time, or something else answers in its place
 */
export async function call<Document>(
  named: CallName,
  access: Access,
  send: (settings: Settings) => Promise<Document>,
): Promise<Answer<Document>> {
  const last: LastTry = {}
  try {
    return { found: await send(settingsFor(named, access, last)) }
  } catch (error) {
    if (error instanceof BatonError) throw error
    if (last.page) return { refusal: last.page }
    const { name, message, $metadata, $fault } = error as ServiceError
    if (!$fault) throw unreadable(named, error)
    return { refusal: { status: $metadata?.httpStatusCode ?? 0, code: name, message } }
  }
}

/** Only an error that the service itself has answered with has `$fault`. */
type ServiceError = Error & {
  readonly $metadata?: { readonly httpStatusCode?: number }
  readonly $fault?: 'client' | 'server'
}

/** The error for a call whose answer the SDK cannot read. The SDK adds a hint for developers, which no user can follow. */
function unreadable(named: CallName, cause: unknown): BatonError {
  const { service, action } = namesOf(named)
  const [why] = messageOf(cause).split('\n  Deserialization error:')
  return new BatonError('unavailable', `${action} got an unreadable answer from ${service}: ${why}`, {
    cause,
  })
}

function settingsFor(named: CallName, { region, credentials, io, profile }: Access, last: LastTry) {
  const endpoint = io.env[`AWS_ENDPOINT_URL_${named.split(':')[0]?.toUpperCase()}`] || io.env.AWS_ENDPOINT_URL
  return {
    region,
    credentials,
    maxAttempts: TRIES,
    requestHandler: { handle: (request: SdkRequest) => sendOne(request, named, io, last) },
    // The profile may name endpoints, or require FIPS endpoints.
    ...(profile !== undefined && { profile }),
    ...(endpoint && { endpoint }),
  }
}

type SdkRequest = {
  readonly method: string
  readonly protocol: string
  readonly hostname: string
  readonly port?: number
  readonly path: string
  readonly query?: Parameters<typeof searchOf>[0]
  readonly headers: Record<string, string>
  readonly body?: string | Uint8Array<ArrayBuffer>
}

/** Sends a request and reads its whole answer. The time limit holds for both together. */
async function sendOne(request: SdkRequest, named: CallName, io: Access['io'], last: LastTry) {
  const { action } = namesOf(named)
  const { method, protocol, hostname, port, path, query, body } = request
  const { host: _host, 'content-length': _length, ...headers } = request.headers
  const endpoint = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`
  const address = `${endpoint}${path}${searchOf(query)}`
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  try {
    const response = await io.fetch(new Request(address, { method, headers, signal, body: body || null }))
    const text = await response.text()
    if (response.ok && !isOfService(text, action)) throw notOfService(named, text)
    last.page = pageIn(response, text)
    const answer = { statusCode: response.status, headers: Object.fromEntries(response.headers) }
    return { response: { ...answer, body: Buffer.from(text) } }
  } catch (cause) {
    if (cause instanceof BatonError) throw cause
    const why = fetchFailureOf(cause)
    throw new BatonError('unavailable', `${action} got no answer from ${endpoint}/: ${why}`, { cause })
  }
}

/** Services answer with a document: JSON, or XML that is named after the action. */
function isOfService(text: string, action: string): boolean {
  return text.startsWith('{') || text.includes(`<${action}Response`)
}

const PAGE_CHARACTERS_MAX = 200

/** The refusal by a page that is not an error document of a service: a page of a proxy, an empty page, or a page that was cut. */
function pageIn({ ok, status, headers }: Response, text: string): Refusal | undefined {
  if (ok || isErrorDocument(text, headers)) return undefined
  const beginning = text.trim().replace(/\s+/g, ' ').slice(0, PAGE_CHARACTERS_MAX)
  return { status, code: `status ${status}`, message: beginning || 'an empty page' }
}

/** Services name their errors: in an XML document that is whole, in a JSON document, or in a header next to one. */
function isErrorDocument(text: string, headers: Headers): boolean {
  if (/<Code>[^<]+<\/Code>.*<\/ErrorResponse>\s*$/s.test(text)) return true
  try {
    const document = Object(JSON.parse(text || '{}')) as object
    return headers.has('x-amzn-errortype') || '__type' in document || 'code' in document
  } catch {
    return false
  }
}

/** The error for an answer that does not come from the service, such as the page of a proxy. */
function notOfService(named: CallName, text: string): BatonError {
  const { service, action } = namesOf(named)
  const beginning = text.trim().slice(0, 60)
  return new BatonError(
    'unavailable',
    `${action} got an answer that does not come from ${service}, but perhaps from a proxy: ${beginning}`,
  )
}

/** Each service has a code of its own for too many requests: `Throttling`, `ThrottlingException`, `TooManyRequestsException`. */
export function isBusy({ status, code }: Refusal): boolean {
  return status >= 500 || status === TOO_MANY_REQUESTS || /Thrott|TooManyRequests|RequestLimit/.test(code)
}

/** The codes with which services refuse a caller that lacks a permission. */
const NO_PERMISSION = /^(AccessDenied|AccessDeniedException|UnauthorizedOperation)$/

/** The cause of an error by `refused`: what the user can do about it. Undefined when nothing but the service's message is known. */
export type RefusedRead = { readonly next?: string }

/** Fits no code. */
const NEVER = /(?!)/

/**
 * Reads something for a check. Undefined when the service answers with a code that `missing` fits: there is no such thing.
 *
 * @param what what is read, such as `the state of the function Shop-Api`
 * @throws BatonError `unavailable` when the service was busy in all tries, else `refused`. A missing permission is named by the action.
 */
export async function read<Document>(
  what: string,
  named: CallName,
  access: Access,
  send: (settings: Settings) => Promise<Document>,
  missing = NEVER,
): Promise<Document | undefined> {
  const answer = await call(named, access, send)
  if ('found' in answer) return answer.found
  const { refusal } = answer
  if (missing.test(refusal.code)) return undefined
  const { because, ...cause } = adviceOn(refusal, named, access)
  const message = `${what} cannot be read${because} (${refusal.code}: ${refusal.message})`
  throw new BatonError(isBusy(refusal) ? 'unavailable' : 'refused', message, { cause })
}

function adviceOn(
  refusal: Refusal,
  permission: string,
  access: Access,
): RefusedRead & { readonly because: string } {
  if (isBusy(refusal)) return { because: `: busy in all ${TRIES} tries`, next: 'wait a minute, and repeat' }
  const fault = credentialFaultIn(`${refusal.code} ${refusal.message}`)
  if (fault) {
    const { title, detail } = credentialTexts(fault, profileOf(access))
    return { because: `: ${title}`, next: detail }
  }
  if (!NO_PERMISSION.test(refusal.code)) return { because: '' }
  return { because: `: needs ${permission}`, next: `grant ${permission} to check this` }
}
