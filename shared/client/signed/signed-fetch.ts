/**
 * Signs HTTP requests with AWS Signature Version 4, as an API of API Gateway with IAM authorization demands. `request-parts.ts` takes a
 * request apart for the signer, with one encoding of its query on the wire and in the signature.
 */

import { defaultProvider } from '@aws-sdk/credential-provider-node'
import { Sha256 } from '@smithy/core/checksum'
import { SignatureV4 } from '@smithy/signature-v4'
import type { AwsCredentialIdentity, Provider } from '@smithy/types'
import { BatonError } from '../../core/values/values.ts'
import { type RequestParts, requestOf, signablePartsOf } from './request-parts.ts'

export type SignedFetchOptions = {
  /** The region of the API. @default the region in the address, else `AWS_REGION`, else `AWS_DEFAULT_REGION` */
  readonly region?: string
  /**
   * Access key, secret key and session token, or a function that gives them. It is called for each request, so it should keep what it
   * has loaded. @default the AWS SDK's search: environment, profiles, single sign-on, containers, instances
   */
  readonly credentials?: Credentials | (() => Promise<Credentials>)
  /** The service that the signature names. @default `execute-api`, or `lambda` for the address of a function */
  readonly service?: string
  /** Sends the signed request. @default the global `fetch` */
  readonly fetch?: (request: Request) => Promise<Response>
}

type Credentials = {
  readonly accessKeyId: string
  readonly secretAccessKey: string
  /** Only temporary credentials have one. @default none */
  readonly sessionToken?: string
}

/** A clock that differs by less than this is accepted. Source: IAM User Guide, requests must reach AWS within five minutes. */
const ACCEPTED_SKEW_MS = 4 * 60_000

/**
 * Makes a `fetch` that signs each request with AWS credentials, for a deployed API:
 *
 * ```ts
 * const baton = createClient({ url: process.env.BATON_URL, fetch: signedFetch() })
 * ```
 *
 * When the API refuses a request and its `Date` shows that this machine's clock is wrong, the request is signed with the API's time and
 * sent once more. Later requests are signed with the corrected time at once.
 *
 * @throws BatonError `misconfigured` when neither the options, nor the address, nor the environment names a region. What the search for
 * credentials throws is passed on.
 */
export function signedFetch(
  options: SignedFetchOptions = {},
): (input: Request | URL | string, init?: RequestInit) => Promise<Response> {
  const { fetch: send = fetch, credentials = defaultProvider() } = options
  let skewMs = 0
  return async (input, init) => {
    // Node's copy of a request loses the referrer.
    const request = input instanceof Request && init === undefined ? input : new Request(input, init)
    const parts = await signablePartsOf(request)
    const sign = signerOf(parts, options, credentials as AwsCredentialIdentity)
    const sendSigned = async () => send(requestOf(await sign(new Date(Date.now() + skewMs)), request, init))
    const response = await sendSigned()
    const correction = correctionOf(response, skewMs)
    if (correction === undefined) return response
    skewMs = correction
    await response.body?.cancel()
    return sendSigned()
  }
}

function signerOf(
  parts: RequestParts,
  { region, service }: SignedFetchOptions,
  credentials: AwsCredentialIdentity | Provider<AwsCredentialIdentity>,
) {
  const signer = new SignatureV4({
    credentials,
    region: region ?? regionOf(parts.hostname, process.env),
    service: service ?? serviceOf(parts.hostname),
    sha256: Sha256,
  })
  return async (signingDate: Date): Promise<RequestParts> => {
    const { headers } = await signer.sign(parts, { signingDate })
    return { ...parts, headers }
  }
}

/** How far this machine's clock is behind that of the API, when that is why the API refused. Undefined otherwise. */
function correctionOf({ status, headers }: Response, skewMs: number): number | undefined {
  if (status !== 403 && status !== 401) return undefined
  const theirs = Date.parse(headers.get('date') ?? '')
  const difference = theirs - Date.now()
  return Math.abs(difference - skewMs) > ACCEPTED_SKEW_MS ? difference : undefined
}

/** The addresses of APIs and of functions, such as `abc.execute-api.eu-west-1.amazonaws.com` and `abc.lambda-url.eu-west-1.on.aws`. */
const AWS_HOST = /\.(execute-api|lambda-url)\.([a-z0-9-]+)\.(?:amazonaws\.com(?:\.cn)?|api\.aws|on\.aws)$/
const LOOPBACK = ['localhost', '127.0.0.1', '[::1]']
/** The region in which the local system stands. */
const LOCAL_REGION = 'us-east-1'

/**
 * The region that a signature names: of the address, else of the environment.
 *
 * @throws BatonError `misconfigured` when neither names one.
 */
export function regionOf(
  hostname: string,
  environment: Readonly<Record<string, string | undefined>>,
): string {
  const [, , ofHost] = AWS_HOST.exec(hostname) ?? []
  const region =
    ofHost ??
    (LOOPBACK.includes(hostname) ? LOCAL_REGION : undefined) ??
    environment.AWS_REGION ??
    environment.AWS_DEFAULT_REGION
  if (region !== undefined && region !== '') return region
  throw new BatonError(
    'misconfigured',
    `signedFetch: ${hostname} names no region; give signedFetch({ region }), or set AWS_REGION`,
  )
}

/** The service that a signature names. */
export function serviceOf(hostname: string): string {
  return AWS_HOST.exec(hostname)?.[1] === 'lambda-url' ? 'lambda' : 'execute-api'
}
