import type { IncomingMessage } from 'node:http'
import { userInfo } from 'node:os'
import { ACCOUNT_ID, arnOf } from '../account.ts'
import { identify } from '../gateway/identify.ts'
import type { Permissions } from '../permissions/permissions.ts'
import { decoded } from './event.ts'

/** The caller of a request, in the form in which API Gateway's IAM authorizer passes it to the function. */
export type HttpCaller = {
  readonly accessKey: string
  readonly accountId: string
  readonly userArn: string
}

/**
 * A request that is signed with the logical id of a role acts under that role. Any other request counts as the local user, which
 * may call every route.
 */
export function callerOf(request: IncomingMessage, permissions: Permissions): HttpCaller {
  const { caller } = identify(request.headers, request.method ?? 'GET', request.url ?? '/')
  const userArn = permissions.principalOf(caller) ?? LOCAL_USER
  return { accessKey: caller, accountId: ACCOUNT_ID, userArn }
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

const LOCAL_USER = `local:${userName()}`

/** The name of the user. A user id may have no name, as in some containers. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'user'
  }
}
