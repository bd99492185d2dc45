/**
 * Calls of AWS services by the query protocol: a form as the request, XML as the answer. A call is one signed request, so it needs no
 * client of the SDK, and the two elements that are read of an answer need no library for XML.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { BatonError } from '../../shared/core/errors.ts'
import { signedFetch } from '../../shared/signed-fetch/signed-fetch.ts'
import { messageOf } from '../say.ts'
import type { Io } from '../terminal/io.ts'
import type { LoadCredentials } from './access.ts'

/** With whose credentials, and in which region, services are called. */
export type Access = {
  readonly region: string
  readonly credentials: LoadCredentials
  readonly io: Pick<Io, 'env' | 'fetch'>
}

export type Query = {
  /** The name in the endpoint and in the signature. */
  readonly service: 'cloudformation' | 'monitoring'
  readonly version: string
  readonly action: string
  readonly parameters: Readonly<Record<string, string>>
}

/** Why a service refused a call: its code, such as `AccessDenied`, and its sentence. */
export type Refusal = { readonly status: number; readonly code: string; readonly message: string }

const TIMEOUT_MS = 10_000
const TRIES = 3
const PAUSE_MS = 500

/**
 * Sends a query. Returns the XML of the answer, or why the service refused the call.
 *
 * @throws BatonError `unavailable` when the service does not answer in time
 */
export async function query(asked: Query, access: Access): Promise<string | Refusal> {
  for (let nth = 1; ; nth++) {
    const response = await send(asked, access)
    const xml = await response.text()
    if (response.ok) return xml
    const refusal = refusalIn(xml, response.status)
    const isBusy = response.status >= 500 || refusal.code.startsWith('Throttling')
    if (!isBusy || nth === TRIES) return refusal
    await sleep(PAUSE_MS * nth)
  }
}

async function send({ service, version, action, parameters }: Query, access: Access): Promise<Response> {
  const { region, credentials, io } = access
  const url = endpointOf(service, region, io.env)
  const sign = signedFetch({ region, credentials, service, fetch: io.fetch })
  try {
    return await sign(url, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
      body: new URLSearchParams({ Action: action, Version: version, ...parameters }).toString(),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
  } catch (cause) {
    const why = causeText(cause)
    throw new BatonError('unavailable', `${action} got no answer from ${url}: ${why}`, { cause })
  }
}

/** `fetch` itself says only that it failed. Its cause says why, such as that there is no such host. */
function causeText(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return messageOf(cause ?? error)
}

/** The address of a service. The variables of the environment are those of the AWS CLI and the SDKs. */
function endpointOf(service: string, region: string, env: Io['env']): string {
  const named = env[`AWS_ENDPOINT_URL_${NAMES[service] ?? service.toUpperCase()}`] || env.AWS_ENDPOINT_URL
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  return named || `https://${service}.${region}.${suffix}/`
}

/** The names of services whose endpoint has another one. */
const NAMES: Readonly<Record<string, string>> = { monitoring: 'CLOUDWATCH' }

function refusalIn(xml: string, status: number): Refusal {
  const [code = `status ${status}`] = textsIn(xml, 'Code')
  const [message = xml.slice(0, 200)] = textsIn(xml, 'Message')
  return { status, code, message }
}

/** The texts of all elements of this name that contain no other element. */
export function textsIn(xml: string, name: string): string[] {
  return partsIn(xml, name).map(unescaped)
}

/** The contents of the direct members of the list of this name. A member may have lists with members, too. */
export function membersIn(xml: string, list: string): string[] {
  const [content = ''] = partsIn(xml, list)
  const members: string[] = []
  let [depth, from] = [0, 0]
  for (const tag of content.matchAll(/<(\/?)member>/g)) {
    const isEnd = tag[1] === '/'
    depth += isEnd ? -1 : 1
    if (!isEnd && depth === 1) from = tag.index + tag[0].length
    if (isEnd && depth === 0) members.push(content.slice(from, tag.index))
  }
  return members
}

/** The contents of all elements of this name, none of which contains another one of this name. */
export function partsIn(xml: string, name: string): string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, content = '']) => content)
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }

function unescaped(text: string): string {
  return text.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (whole, hex, decimal, name) => {
    if (hex || decimal) return String.fromCodePoint(hex ? Number.parseInt(hex, 16) : Number(decimal))
    return ENTITIES[name] ?? whole
  })
}
