import type { IncomingMessage } from 'node:http'
import { userInfo } from 'node:os'
import { ACCOUNT_ID, arnOf, LOCAL_CREDENTIALS, TESTER } from '../account.ts'
import type { Permissions } from '../permissions/permissions.ts'
import { decoded } from './routes.ts'
import { checkSignature } from './signature.ts'

/** The caller of a request, in the form in which API Gateway's IAM authorizer passes it to the function. */
export type HttpCaller = {
  readonly accessKey: string
  readonly accountId: string
  readonly userArn: string
}

/** Why the caller is not known. The log of the local system shows it; the caller gets the answer of API Gateway, which does not say why. */
export type Unidentified = { readonly reason: string }

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
