import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { userInfo } from 'node:os'
import { ACCOUNT_ID, arnOf, LOCAL_CREDENTIALS, REGION, TESTER } from '../account.ts'
import type { Permissions } from '../permissions/permissions.ts'
import { decoded, type HttpCaller } from './event.ts'

/** Why the caller is not known. The log of the local system shows it; the caller gets the answer of API Gateway, which does not say why. */
type Unidentified = { readonly reason: string }

export type Authentication = {
  /** Whether every request must be signed. A wrong signature is refused in any case. */
  readonly isDemanded: boolean
  /** The session token of the credentials that the local system gives to its own processes. */
  readonly sessionToken: string
}

/**
 * A request that is signed with the logical id of a role acts under that role. A request without a signature counts as the local user,
 * which may call every route, unless signatures are demanded.
 */
export function callerOf(
  request: IncomingMessage,
  body: Buffer,
  permissions: Permissions,
  { isDemanded, sessionToken }: Authentication,
): HttpCaller | Unidentified {
  const credentialsOf = (accessKeyId: string) => {
    if (accessKeyId === LOCAL_CREDENTIALS.accessKeyId) return LOCAL_CREDENTIALS
    const isKnown = accessKeyId === TESTER || permissions.principalOf(accessKeyId) !== undefined
    return isKnown ? { ...LOCAL_CREDENTIALS, sessionToken } : undefined
  }
  const signature = checkSignature(request, body, credentialsOf, Date.now())
  switch (signature.kind) {
    case 'refused':
      return signature
    case 'valid':
      return signerOf(signature.accessKeyId, permissions)
    case 'unsigned':
      return isDemanded
        ? { reason: 'the request is not signed' }
        : { accessKey: 'anonymous', accountId: ACCOUNT_ID, userArn: `local:${userName()}` }
  }
}

function signerOf(accessKeyId: string, permissions: Permissions): HttpCaller {
  const name = accessKeyId === TESTER ? TESTER : userName()
  const userArn = permissions.principalOf(accessKeyId) ?? `arn:aws:iam::${ACCOUNT_ID}:user/${name}`
  return { accessKey: accessKeyId, accountId: ACCOUNT_ID, userArn }
}

/** Whether the caller may call the route, both by the path as it was sent and by the path that the function gets. */
export function mayInvoke(
  { accessKey }: HttpCaller,
  { method, path, apiId }: { readonly method: string; readonly path: string; readonly apiId: string },
  permissions: Permissions,
): boolean {
  return [...new Set([path, decoded(path)])].every(one =>
    permissions.allows(accessKey, {
      action: 'execute-api:Invoke',
      resource: arnOf('execute-api', `${apiId}/$default/${method}${one}`),
    }),
  )
}

/** The name of the user. A user id may have no name, as in some containers. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'user'
  }
}

/**
 * AWS Signature Version 4, checked as API Gateway checks it. The checks are written from the documentation ("Create a signed AWS API
 * request", IAM User Guide) and share no code with any signer, so that an error in a signer cannot hide here.
 *
 * Every service but S3 encodes the path of the request once more for the signature: `/v1/tasks/a%3Ab` is signed as `/v1/tasks/a%253Ab`.
 */

/** What a request says about its sender. `refused` has the reason for the log of the local system; the sender does not get it. */
export type Signature =
  | { readonly kind: 'unsigned' }
  | { readonly kind: 'valid'; readonly accessKeyId: string }
  | { readonly kind: 'refused'; readonly reason: string }

/** The credentials of an access key id; undefined for an unknown one. A key with a session token is refused without that token. */
export type FindCredentials = (
  accessKeyId: string,
) => { readonly secretAccessKey: string; readonly sessionToken?: string } | undefined

const ALGORITHM = 'AWS4-HMAC-SHA256'
const SERVICE = 'execute-api'
const TERMINATOR = 'aws4_request'
/** A request reaches AWS within five minutes of the time in its signature. Source: IAM User Guide. */
const SKEW_MS_MAX = 5 * 60_000

/** Checks the signature of a request to a service, by default to API Gateway, if it has one. */
export function checkSignature(
  request: IncomingMessage,
  body: Buffer,
  credentialsOf: FindCredentials,
  now: number,
  service = SERVICE,
): Signature {
  const { authorization = '' } = request.headers
  if (/[?&]X-Amz-Signature=/i.test(request.url ?? ''))
    return refused('a signature in the query is not checked here')
  if (!authorization.startsWith(ALGORITHM)) return { kind: 'unsigned' }
  const parts = partsOf(authorization)
  if (!parts) return refused('the header Authorization is incomplete')
  const reason =
    problemOfTime(String(request.headers['x-amz-date']), parts.scope, service, now) ??
    problemOf(request, body, parts, credentialsOf)
  return reason === undefined ? { kind: 'valid', accessKeyId: parts.accessKeyId } : refused(reason)
}

function refused(reason: string): Signature {
  return { kind: 'refused', reason }
}

type Parts = {
  readonly accessKeyId: string
  /** `20261123/us-east-1/execute-api/aws4_request` */
  readonly scope: string
  readonly signedHeaders: readonly string[]
  readonly signature: string
}

/** Access key ids of the local system are logical ids of resources, or contain no slash at any rate. */
const CREDENTIAL = /\bCredential=([^/,\s]+)\/([^,\s]+)/

function partsOf(authorization: string): Parts | undefined {
  const [, accessKeyId, scope] = CREDENTIAL.exec(authorization) ?? []
  const [, names] = /\bSignedHeaders=([^,\s]+)/.exec(authorization) ?? []
  const [, signature] = /\bSignature=([0-9a-f]+)/.exec(authorization) ?? []
  if (!accessKeyId || !scope || !names || !signature) return undefined
  return { accessKeyId, scope, signedHeaders: names.split(';'), signature }
}

/** Why the signature is refused; undefined if it is right. */
function problemOf(
  request: IncomingMessage,
  body: Buffer,
  parts: Parts,
  credentialsOf: FindCredentials,
): string | undefined {
  const { accessKeyId, scope, signedHeaders, signature } = parts
  const time = String(request.headers['x-amz-date'])
  const unsigned = mustBeSigned(request).filter(name => !signedHeaders.includes(name))
  if (unsigned.length > 0) return `the signature does not cover ${unsigned.join(', ')}`
  const credentials = credentialsOf(accessKeyId)
  if (!credentials) return `the access key id ${accessKeyId} is unknown`
  if (request.headers['x-amz-security-token'] !== credentials.sessionToken)
    return 'the session token is wrong'
  const hash = hashOf(body)
  const claimed = request.headers['x-amz-content-sha256']
  if (claimed !== undefined && claimed !== hash) return 'x-amz-content-sha256 is not the hash of the body'
  const canonical = canonicalRequest(request, signedHeaders, hash)
  const expected = signatureOf(canonical, time, scope, credentials.secretAccessKey)
  return equal(signature, expected)
    ? undefined
    : `the signature is wrong; the canonical request was ${JSON.stringify(canonical)}`
}

function problemOfTime(time: string, scope: string, service: string, now: number): string | undefined {
  const at = Date.parse(time.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))
  if (Number.isNaN(at)) return 'x-amz-date is missing, or is not a time such as 20261123T095000Z'
  const wanted = [time.slice(0, 8), REGION, service, TERMINATOR].join('/')
  if (scope !== wanted) return `the scope is ${scope}; it must be ${wanted}`
  if (Math.abs(now - at) > SKEW_MS_MAX) return `x-amz-date differs by more than five minutes: ${time}`
  return undefined
}

/** The headers that a signature must cover: the host, and all of AWS itself. */
function mustBeSigned({ headers }: IncomingMessage): string[] {
  return ['host', ...Object.keys(headers).filter(name => name.startsWith('x-amz-'))]
}

function canonicalRequest(
  request: IncomingMessage,
  signedHeaders: readonly string[],
  bodyHash: string,
): string {
  const { method = 'GET', url = '/' } = request
  const [path = '/', ...query] = url.split('?')
  const headers = signedHeaders.map(name => `${name}:${headerText(request, name)}\n`)
  return [
    method,
    path.split('/').map(encoded).join('/'),
    canonicalQuery(query.join('?')),
    headers.join(''),
    signedHeaders.join(';'),
    bodyHash,
  ].join('\n')
}

function headerText({ headersDistinct }: IncomingMessage, name: string): string {
  return (headersDistinct[name] ?? []).map(value => value.trim().replaceAll(/ +/g, ' ')).join(',')
}

/** The parameters of the query, sorted by name and then by value. */
function canonicalQuery(query: string): string {
  const pairs = query.split('&').filter(pair => pair !== '')
  const parts = pairs.map(pair => {
    const [name = '', ...value] = pair.split('=')
    return [encoded(decoded(name)), encoded(decoded(value.join('=')))] as const
  })
  const sorted = parts.toSorted(([a, b], [c, d]) => compared(a, c) || compared(b, d))
  return sorted.map(pair => pair.join('=')).join('&')
}

function compared(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** Encodes all but letters, digits and `- _ . ~`. */
function encoded(text: string): string {
  return Array.from(Buffer.from(text, 'utf8'), byte => {
    const character = String.fromCharCode(byte)
    return /[A-Za-z0-9\-_.~]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
  }).join('')
}

function signatureOf(canonical: string, time: string, scope: string, secret: string): string {
  const key = scope.split('/').reduce<string | Buffer>((from, part) => hmac(from, part), `AWS4${secret}`)
  return hmac(key, [ALGORITHM, time, scope, hashOf(canonical)].join('\n')).toString('hex')
}

function hmac(key: string | Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}

function hashOf(data: string | Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

function equal(given: string, expected: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(expected)]
  return one.length === other.length && timingSafeEqual(one, other)
}
