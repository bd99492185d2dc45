/** One signed call of an AWS service. It needs no client of the SDK. `query.ts` and `json-call.ts` read the answers. */

import { signedFetch } from '../../shared/client/signed/signed-fetch.ts'
import { BatonError } from '../../shared/core/errors.ts'
import type { Io } from '../terminal/io.ts'
import { fetchFailureOf } from '../terminal/say.ts'
import type { LoadCredentials } from './access.ts'
import { credentialFaultIn, credentialTexts } from './credential-faults.ts'

/** The region and the credentials of calls. */
export type Access = {
  readonly region: string
  readonly credentials: LoadCredentials
  readonly io: Pick<Io, 'env' | 'fetch' | 'pause'>
  /** The profile that the user has named. */
  readonly profile?: string
}

/** The profile of the user: given, else of the environment. */
export function profileOf({ profile, io }: Access): string | undefined {
  return profile ?? (io.env.AWS_PROFILE || undefined)
}

/** The services by their names in endpoints and signatures. */
export type Service = 'cloudformation' | 'lambda' | 'monitoring' | 'sqs' | 'ssm' | 'sts'

/** A request to a service. `action` names it in errors, and in the permission that it needs. */
export type ServiceCall = {
  readonly service: Service
  readonly action: string
  readonly method: 'GET' | 'POST'
  /** The path and the query. @default / */
  readonly path?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** Why a service refused a call: its code, such as `AccessDenied`, and its sentence. */
export type Refusal = { readonly status: number; readonly code: string; readonly message: string }

/** Reads the refusal in an answer that is not a success. */
type ReadRefusal = (text: string, response: Response) => Refusal

const TIMEOUT_MS = 10_000
const TRIES = 4
const PAUSE_MS = 500
const TOO_MANY_REQUESTS = 429

/**
 * Sends a call, and sends it again while the service is busy. Returns the text of the answer, or why the service refused the call.
 *
 * @throws BatonError `unavailable` when the service does not answer in time
 */
export async function call(
  asked: ServiceCall,
  access: Access,
  readRefusal: ReadRefusal,
): Promise<string | Refusal> {
  for (let nth = 1; ; nth++) {
    const { response, text } = await send(asked, access)
    if (response.ok) return text
    const refusal = readRefusal(text, response)
    if (!isBusy(refusal) || nth === TRIES) return refusal
    await access.io.pause(PAUSE_MS * nth)
  }
}

/** Each service has a code of its own for too many requests: `Throttling`, `ThrottlingException`, `TooManyRequestsException`. */
export function isBusy({ status, code }: Refusal): boolean {
  return status >= 500 || status === TOO_MANY_REQUESTS || /Thrott|TooManyRequests|RequestLimit/.test(code)
}

/** Sends a call and reads its answer whole. The time is that of both. */
async function send(
  { service, action, method, path = '/', headers = {}, body }: ServiceCall,
  { region, credentials, io }: Access,
): Promise<{ readonly response: Response; readonly text: string }> {
  const endpoint = endpointOf(service, region, io.env)
  const sign = signedFetch({ region, credentials, service, fetch: io.fetch })
  try {
    const response = await sign(endpoint.replace(/\/$/, '') + path, {
      method,
      headers,
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    return { response, text: await response.text() }
  } catch (cause) {
    if (cause instanceof BatonError) throw cause
    const why = fetchFailureOf(cause)
    throw new BatonError('unavailable', `${action} got no answer from ${endpoint}: ${why}`, { cause })
  }
}

/** The address of a service. The variables of the environment are those of the AWS CLI and the SDKs. */
function endpointOf(service: Service, region: string, env: Io['env']): string {
  const name = service === 'monitoring' ? 'CLOUDWATCH' : service.toUpperCase()
  const named = env[`AWS_ENDPOINT_URL_${name}`] || env.AWS_ENDPOINT_URL
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return named || `https://${service}.${region}.${suffix}/`
}

/** The error for an answer that is not of the service, such as the page of a proxy. */
export function notOfService(
  { service, action }: Pick<ServiceCall, 'service' | 'action'>,
  text: string,
): BatonError {
  const beginning = text.trim().slice(0, 60)
  return new BatonError(
    'unavailable',
    `${action} got an answer that is not of ${service}, but perhaps of a proxy: ${beginning}`,
  )
}

/** The codes with which services refuse a caller for want of a permission. */
const NO_PERMISSION = /^(AccessDenied|AccessDeniedException|UnauthorizedOperation)$/

/** The cause of an error by `refused`: what the user can do about it. Undefined when only the words of the service say it. */
export type RefusedRead = { readonly next?: string }

/**
 * The error of a check that a service refused. It is `unavailable` when the service was busy in all tries, else `refused`. A missing
 * permission is named by the action.
 *
 * @param what what could not be read, such as `the state of the function Shop-Api`
 */
export function refused(what: string, permission: string, refusal: Refusal, access: Access): BatonError {
  const { code, message } = refusal
  const { because, ...cause } = adviceOn(refusal, permission, access)
  const told = `${what} cannot be read${because} (${code}: ${message})`
  return new BatonError(isBusy(refusal) ? 'unavailable' : 'refused', told, { cause })
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
