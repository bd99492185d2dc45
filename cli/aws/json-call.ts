/** Calls of AWS services that answer in JSON: by the name of an action in a header, or by a path. */

import { type Access, call, notOfService, type Refusal, type Service } from './call.ts'

/** A call by the JSON protocol, such as `AmazonSSM.GetParameter`. */
export type TargetCall = {
  readonly service: Service
  readonly target: string
  /** The content type says the version of the protocol. */
  readonly protocol: '1.0' | '1.1'
  readonly input: object
}

/** Reads by a path, as Lambda is asked. */
export type PathCall = { readonly service: Service; readonly action: string; readonly path: string }

/** A success has its document under `found`. */
export type JsonAnswer<Document> = { readonly found: Document } | { readonly refusal: Refusal }

/** @throws BatonError `unavailable` when the service does not answer in time, or something else answers in its place */
export async function callTarget<Document>(
  { service, target, protocol, input }: TargetCall,
  access: Access,
): Promise<JsonAnswer<Document>> {
  const headers = { 'content-type': `application/x-amz-json-${protocol}`, 'x-amz-target': target }
  const action = target.split('.')[1] ?? target
  const body = JSON.stringify(input)
  return parsed(
    { service, action },
    await call({ service, action, method: 'POST', headers, body }, access, refusalIn),
  )
}

/** @throws BatonError `unavailable` when the service does not answer in time, or something else answers in its place */
export async function readPath<Document>(asked: PathCall, access: Access): Promise<JsonAnswer<Document>> {
  return parsed(asked, await call({ ...asked, method: 'GET' }, access, refusalIn))
}

function parsed<Document>(
  asked: Pick<PathCall, 'service' | 'action'>,
  answer: string | Refusal,
): JsonAnswer<Document> {
  if (typeof answer !== 'string') return { refusal: answer }
  try {
    return { found: JSON.parse(answer) as Document }
  } catch {
    throw notOfService(asked, answer)
  }
}

/** The code stands in a header or in the document, with a name before `#` or an address behind `:`. */
function refusalIn(text: string, { status, headers }: Response): Refusal {
  const { __type, message, Message } = membersIn(text)
  const named = headers.get('x-amzn-errortype') ?? __type ?? `status ${status}`
  const [code = named] = (named.split('#').at(-1) ?? named).split(':')
  return { status, code, message: message ?? Message ?? text.slice(0, 200) }
}

/** The members of an error document. Its spelling of `message` depends on the service. */
function membersIn(text: string): {
  readonly __type?: string
  readonly message?: string
  readonly Message?: string
} {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}
