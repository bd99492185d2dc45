/**
 * Why a signed call of an API was refused. API Gateway answers 403 and `{"message":"Forbidden"}` to every caller that IAM refuses,
 * whatever the reason is; some gateways tell it in a header and a sentence. When nothing is told, the Security Token Service is asked for
 * the caller's name. That needs no permission, so the answer says whether the credentials are valid: if they are, a permission is missing.
 */

import { messageOf, shellWord } from '../say.ts'
import type { AccessOptions } from './access.ts'
import type { Access } from './call.ts'
import { query, textsIn } from './query.ts'

type Send = (request: Request) => Promise<Response>

export type Explaining = Access & {
  readonly options: AccessOptions
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
    return answerOf(response.status, textsOf(cause, request, access))
  }
}

/**
 * - `expired`: a temporary credential has ended;
 * - `unknown-key`: AWS knows no such access key, or the session token is not that of the key;
 * - `wrong-secret`: the signature was made with another secret key;
 * - `clock`: the signature is too old, or of the future;
 * - `no-permission`: the credentials are valid, and the caller may not make this call.
 */
type Cause =
  | {
      readonly kind: 'expired' | 'unknown-key' | 'wrong-secret' | 'clock' | 'no-permission'
      readonly caller?: string
    }
  | { readonly kind: 'unclear'; readonly why: string }

/** What a gateway tells: `x-amzn-errortype`, and a sentence. Source: AWS re:Post, troubleshooting 403 of API Gateway. */
function toldCause(headers: Headers, body: string): Cause | undefined {
  return causeIn(`${headers.get('x-amzn-errortype') ?? ''} ${body}`)
}

const TOLD: ReadonlyArray<readonly [pattern: RegExp, kind: Exclude<Cause['kind'], 'unclear'>]> = [
  [/signature expired|signature not yet current|RequestTimeTooSkewed|RequestExpired/i, 'clock'],
  [/ExpiredToken|token included in the request is expired/i, 'expired'],
  [/InvalidClientTokenId|UnrecognizedClient|token included in the request is invalid/i, 'unknown-key'],
  [/SignatureDoesNotMatch|InvalidSignature|IncompleteSignature|signature we calculated/i, 'wrong-secret'],
  [/not authorized to perform/i, 'no-permission'],
]

function causeIn(text: string): Cause | undefined {
  const [, kind] = TOLD.find(([pattern]) => pattern.test(text)) ?? []
  return kind && { kind }
}

async function askedCause(access: Explaining): Promise<Cause> {
  if (!access.asksAws) return { kind: 'unclear', why: 'the local system prints why in its terminal' }
  try {
    const answer = await query({ service: 'sts', action: 'GetCallerIdentity' }, access)
    if (typeof answer !== 'string')
      return (
        causeIn(`${answer.code} ${answer.message}`) ?? {
          kind: 'unclear',
          why: `${answer.code}: ${answer.message}`,
        }
      )
    const [caller] = textsIn(answer, 'Arn')
    return { kind: 'no-permission', ...(caller !== undefined && { caller }) }
  } catch (error) {
    return { kind: 'unclear', why: messageOf(error) }
  }
}

type Texts = { readonly title: string; readonly detail: string }

function textsOf(cause: Cause, request: Request, { options }: Explaining): Texts {
  const login =
    options.profile === undefined ? 'aws sso login' : `aws sso login --profile ${shellWord(options.profile)}`
  const renewal = `get new ones, for example with ${login}`
  const { host, pathname } = new URL(request.url)
  const call = `${request.method} ${pathname}`
  switch (cause.kind) {
    case 'expired':
      return {
        title: 'Your AWS credentials have expired',
        detail: `AWS refuses expired credentials: ${renewal}`,
      }
    case 'unknown-key':
      return {
        title: 'AWS does not know your credentials',
        detail: `the access key does not exist or is not active, or the session token is not its own: check the profile or the variables AWS_ACCESS_KEY_ID and AWS_SESSION_TOKEN, or ${renewal}`,
      }
    case 'wrong-secret':
      return {
        title: 'AWS refuses your signature',
        detail:
          'the secret access key is not that of the access key: check the profile or the variable AWS_SECRET_ACCESS_KEY',
      }
    case 'clock':
      return {
        title: 'AWS refuses the time of your signature',
        detail: 'the clock of this machine differs by more than 5 minutes: set it',
      }
    case 'no-permission':
      return {
        title: 'You may not make this call',
        detail: `${cause.caller ?? 'the caller'} has no permission execute-api:Invoke for ${call} of ${host}: grantRead and grantOperate of the task system give it, or use another --profile`,
      }
    default:
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
