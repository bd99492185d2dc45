/**
 * Calls of AWS services by the query protocol: a form as the request, XML as the answer. The few elements that are read of an answer need
 * no library for XML.
 */

import { type Access, call, notOfService, type Refusal } from './call.ts'

export type Query = {
  readonly service: 'cloudformation' | 'monitoring' | 'sts'
  readonly action: string
  readonly parameters?: Readonly<Record<string, string>>
}

/** The version of each API. None has another one. */
const VERSIONS = { cloudformation: '2010-05-15', monitoring: '2010-08-01', sts: '2011-06-15' } as const

/**
 * Sends a query. Returns the XML of the answer, or why the service refused the call.
 *
 * @throws BatonError `unavailable` when the service does not answer in time, or something else answers in its place
 */
export async function query(
  { service, action, parameters = {} }: Query,
  access: Access,
): Promise<string | Refusal> {
  const form = new URLSearchParams({ Action: action, Version: VERSIONS[service], ...parameters })
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  const asked = { service, action, method: 'POST', headers, body: form.toString() } as const
  const answer = await call(asked, access, refusalIn)
  if (typeof answer === 'string' && !answer.includes(`<${action}Response`)) throw notOfService(asked, answer)
  return answer
}

function refusalIn(xml: string, { status }: Response): Refusal {
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
