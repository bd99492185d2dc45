/**
 * Why a signed call of an API was refused. API Gateway answers 403 and `{"message":"Forbidden"}` to every caller that IAM refuses,
 * whatever the reason is; some gateways tell it in a header and a sentence. An address that names another region than the signature is
 * the reason. When nothing is told, the Security Token Service is asked for the caller's name. That needs no permission, so the answer
 * says whether the credentials are valid. If they are, a permission is missing, or an address that names no region is in another one.
 */

import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts'
import { messageOf } from '../../shared/core/values/values.ts'
import type { CredentialFault, Texts } from './access.ts'
import { credentialFaultIn, credentialTexts, regionNamedBy } from './access.ts'
import { type Access, call, profileOf } from './call.ts'
import { explainedRefusal, isUnexplainedRefusal } from './refusal.ts'

type Send = (request: Request) => Promise<Response>

export type Explaining = Access & {
  /** Whether AWS may be asked. The local system has credentials of its own. */
  readonly asksAws: boolean
}

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
    const { status, headers } = response
    if (!isUnexplainedRefusal(status, headers.get('content-type'))) return response
    const told = toldCause(headers, await response.text())
    const cause = otherRegion(request.url, access) ?? told ?? (await askOnce())
    const { title, detail } = textsOf(cause, request, access)
    return responseOf(explainedRefusal(status, title, detail))
  }
}

/**
 * - `other-region`: the API is in this region, and the signature names another one;
 * - `no-permission`: the credentials are valid, and the caller may not make this call. `caller` is as STS has named it.
 */
type Cause =
  | { readonly kind: 'other-region'; readonly region: string }
  | { readonly kind: 'credentials'; readonly fault: CredentialFault }
  | { readonly kind: 'no-permission'; readonly caller?: string }
  | { readonly kind: 'unclear'; readonly why: string }

/** The local system has a region, too, and refuses signatures of any other. */
function otherRegion(url: string, { region: signed }: Access): Cause | undefined {
  const region = regionNamedBy(url)
  return region === undefined || region === signed ? undefined : { kind: 'other-region', region }
}

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
    const named = 'sts:GetCallerIdentity'
    const command = new GetCallerIdentityCommand({})
    const answer = await call(named, access, settings => new STSClient(settings).send(command))
    if ('refusal' in answer) {
      const why = `${answer.refusal.code}: ${answer.refusal.message}`
      const fault = credentialFaultIn(why)
      return fault ? { kind: 'credentials', fault } : { kind: 'unclear', why }
    }
    const caller = answer.found.Arn
    return { kind: 'no-permission', ...(caller !== undefined && { caller }) }
  } catch (error) {
    return { kind: 'unclear', why: messageOf(error) }
  }
}

function textsOf(cause: Cause, request: Request, access: Access): Texts {
  const { host, pathname } = new URL(request.url)
  const call = `${request.method} ${pathname}`
  switch (cause.kind) {
    case 'other-region':
      return {
        title: 'Your calls are signed for another region',
        detail: `${host} is in ${cause.region}, and the signature names ${access.region}: give --region ${cause.region}`,
      }
    case 'credentials':
      return credentialTexts(cause.fault, profileOf(access))
    case 'no-permission':
      return {
        title: 'You may not make this call',
        detail: `${cause.caller ?? 'the caller'} has no permission execute-api:Invoke for ${call} of ${host}: grantRead and grantOperate of the task system give it, or use another --profile${regionDoubt(cause.caller, request.url, access)}`,
      }
    case 'unclear':
      return {
        title: 'The API refuses your credentials',
        detail: `${host} does not say why it refuses ${call} (${cause.why}): check the credentials, their permission execute-api:Invoke, and the clock`,
      }
  }
}

/** STS admits a caller in every region, so its answer does not say that the signature names the region of the API. */
function regionDoubt(caller: string | undefined, url: string, { region }: Access): string {
  const isCertain = caller === undefined || regionNamedBy(url) !== undefined
  return isCertain ? '' : `; if the API is not in ${region}, give its --region`
}

function responseOf({ status, headers, body }: ReturnType<typeof explainedRefusal>): Response {
  return new Response(body.toString(), {
    status,
    headers: Object.entries(headers).map(([name, value]) => [name, String(value)]),
  })
}
