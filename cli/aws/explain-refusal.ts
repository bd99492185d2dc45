/**
 * Why a signed call of an API was refused. API Gateway answers 403 and `{"message":"Forbidden"}` to every caller that IAM refuses,
 * whatever the reason is; some gateways tell it in a header and a sentence. When nothing is told, the Security Token Service is asked for
 * the caller's name. That needs no permission, so the answer says whether the credentials are valid: if they are, a permission is missing.
 */

import { messageOf } from '../../shared/core/errors.ts'
import { type Access, profileOf } from './call.ts'
import { type CredentialFault, credentialFaultIn, credentialTexts, type Texts } from './credential-faults.ts'
import { query, textsIn } from './query.ts'

type Send = (request: Request) => Promise<Response>

export type Explaining = Access & {
  /** Whether AWS may be asked. The local system has credentials of its own. */
  readonly asksAws: boolean
}

const UNAUTHORIZED = 401
const FORBIDDEN = 403

/** Makes a `fetch` whose refusals by a gateway are problem documents that say what is wrong and what to do. */
export function explainingRefusals(send: Send, access: Explaining): Send {
  let asking: Promise<Cause> | undefined
  // A page asks several things at once, and all are refused for the same reason.
  const askOnce = () => {
    asking ??= askedCause(access).finally(() => {
      asking = undefined
    })
    return asking
  }
  return async request => {
    const response = await send(request)
    const isOfGateway = !response.headers.get('content-type')?.includes('application/problem+json')
    if (!isOfGateway || ![UNAUTHORIZED, FORBIDDEN].includes(response.status)) return response
    const cause = toldCause(response.headers, await response.text()) ?? (await askOnce())
    return answerOf(response.status, textsOf(cause, request, profileOf(access)))
  }
}

/** `no-permission`: the credentials are valid, and the caller may not make this call. */
type Cause =
  | { readonly kind: 'credentials'; readonly fault: CredentialFault }
  | { readonly kind: 'no-permission'; readonly caller?: string }
  | { readonly kind: 'unclear'; readonly why: string }

/** What a gateway tells: `x-amzn-errortype`, and a sentence. Source: AWS re:Post, troubleshooting 403 of API Gateway. */
function toldCause(headers: Headers, body: string): Cause | undefined {
  const told = `${headers.get('x-amzn-errortype') ?? ''} ${body}`
  const fault = credentialFaultIn(told)
  if (fault) return { kind: 'credentials', fault }
  return /not authorized to perform/i.test(told) ? { kind: 'no-permission' } : undefined
}

async function askedCause(access: Explaining): Promise<Cause> {
  if (!access.asksAws) return { kind: 'unclear', why: 'the local system prints why in its terminal' }
  try {
    const answer = await query({ service: 'sts', action: 'GetCallerIdentity' }, access)
    if (typeof answer !== 'string') {
      const why = `${answer.code}: ${answer.message}`
      const fault = credentialFaultIn(why)
      return fault ? { kind: 'credentials', fault } : { kind: 'unclear', why }
    }
    const [caller] = textsIn(answer, 'Arn')
    return { kind: 'no-permission', ...(caller !== undefined && { caller }) }
  } catch (error) {
    return { kind: 'unclear', why: messageOf(error) }
  }
}

function textsOf(cause: Cause, request: Request, profile: string | undefined): Texts {
  const { host, pathname } = new URL(request.url)
  const call = `${request.method} ${pathname}`
  switch (cause.kind) {
    case 'credentials':
      return credentialTexts(cause.fault, profile)
    case 'no-permission':
      return {
        title: 'You may not make this call',
        detail: `${cause.caller ?? 'the caller'} has no permission execute-api:Invoke for ${call} of ${host}: grantRead and grantOperate of the task system give it, or use another --profile`,
      }
    case 'unclear':
      return {
        title: 'The API refuses your credentials',
        detail: `${host} does not say why it refuses ${call} (${cause.why}): check the credentials, their permission execute-api:Invoke, and the clock`,
      }
  }
}

function answerOf(status: number, { title, detail }: Texts): Response {
  const type = `urn:baton:problem:${status === UNAUTHORIZED ? 'unauthorized' : 'forbidden'}`
  return new Response(JSON.stringify({ type, title, status, detail }), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  })
}
