import { request } from 'node:http'
import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs'
import { describe, expect, it } from 'vitest'
import { CONVERSATION, recordExamples } from '../../../openapi/examples/examples.ts'
import { type Exchanged, play, type Stage } from '../../../openapi/examples/play.ts'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { encodeLook } from '../../../shared/aws/sqs/wire.ts'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { type Operation, type Part, readContract } from '../../support/conformance/contract.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

/**
 * The conversation whose recording the OpenAPI document shows, held with the local system. The document's recording comes from a system
 * in memory: this shows that a real one answers in the same way.
 */

const contract = readContract()
const system = aLocalSystem()
/** What the local system does not bring about, or answers without its function. */
const isShownHere = ({ isCrowded, isStream, operation }: Partial<Exchanged>) =>
  !isCrowded && !isStream && operation !== 'events'

describe('the conversation of the document', () => {
  it('is answered by the local system as recorded: by the document, with the same members and words', async () => {
    const steps = CONVERSATION.filter(step => !('operation' in step) || isShownHere(step))
    const recorded = (await recordExamples(ALL_OPERATIONS)).filter(isShownHere)
    const faults: unknown[] = []

    const real = await play(ALL_OPERATIONS, steps, aStage(faults))

    expect(faults).toEqual([])
    expect(real.map(shapeOf)).toEqual(recorded.map(shapeOf))
  })

  it('has an answer for each success of each operation, and a refusal of each kind', async () => {
    const shown = await recordExamples(ALL_OPERATIONS)
    const lacking = contract.operations
      .filter(({ name }) => name !== 'openapi')
      .filter(({ name }) => !shown.some(one => one.operation === name && one.status < 300 && !one.hides))
    const statuses = new Set(shown.map(({ status }) => status))

    expect(lacking.map(({ name }) => name)).toEqual([])
    expect([400, 404, 409, 413, 415, 429, 501].filter(status => !statuses.has(status))).toEqual([])
  })

  it('shows events as the local system streams them', async () => {
    const [recorded] = (await recordExamples(ALL_OPERATIONS)).filter(({ isStream }) => isStream)
    const response = await fetch(new URL('/v1/events?taskId=resize:streamed', system.cloud.apiUrl))
    await system.call('POST', '/v1/tasks', { type: 'resize', key: 'streamed' })
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let text = ''
    await expect
      .poll(async () => {
        text += (await reader?.read())?.value ?? ''
        return framesIn(text).length
      })
      .toBeGreaterThan(1)
    await reader?.cancel()

    expect(response.headers.get('content-type')).toBe(recorded?.answer.headers.get('content-type'))
    expect(framesIn(text).slice(0, 2)).toEqual(framesIn(String(recorded?.answer.body)).slice(0, 2))
  })
})

/** The local system as a partner of the conversation. What breaks the document goes into `faults`. */
function aStage(faults: unknown[]): Stage {
  return {
    ask: async ({ method, target, body, contentType = 'application/json' }) => {
      // The local system has further types and workers.
      const wide = target.replace(/^(\/v1\/(?:types|counts|workers)\?.*limit)=10$/, '$1=100')
      const response = await fetch(new URL(wide, system.cloud.apiUrl), {
        method,
        ...(body !== undefined && { headers: { 'content-type': contentType }, body: JSON.stringify(body) }),
      })
      const { status, headers } = response
      const text = await response.text()
      const operation = operationAt(method, target)
      faults.push(
        ...contract.faultsOf(operation, { status, headers, text }).map(fault => ({ method, target, fault })),
      )
      return { status, headers, body: text === '' ? undefined : JSON.parse(text) }
    },
    happen: async happening => {
      if ('lost' in happening) await loseLook(happening.lost)
      else await system.answerWhen(happening.path, happening.until)
    },
  }
}

function operationAt(method: string, target: string): Operation {
  const path = new URL(target, system.cloud.apiUrl).pathname
  const found = contract.operations.filter(
    one => one.method === method && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return found.find(one => !one.path.includes('{')) ?? (found[0] as Operation)
}

/** Puts the message by which the waker looks at the task among the dead letters, and lets the sweeper find it. */
async function loseLook(id: string): Promise<void> {
  const sqs = new SQSClient(system.cloud.clientOptions)
  const [queue] = Object.entries(system.cloud.resources).flatMap(([name, { type, physicalId }]) =>
    type === 'AWS::SQS::Queue' && name.includes('DeadLetters') ? physicalId : [],
  )
  const { body } = await system.call('GET', pathOf('get', id))
  const look = { id, born: body.traceId, revision: 0, hops: 0, delaySeconds: 0 }
  await sqs.send(new SendMessageCommand({ QueueUrl: queue, MessageBody: encodeLook(look) }))
  sqs.destroy()
  const swept = await system.cloud.functions.find('Sweeper').invoke({})
  if (!swept.ok) throw new Error(swept.error.errorMessage)
}

/** Members whose texts are words of the API, or were chosen by the caller. */
const WORDS = [
  'status',
  'statusReason',
  'state',
  'reason',
  'outcome',
  'kind',
  'what',
  'title',
  'queue',
  'path',
]
const OWN = ['key', 'userId', 'type', 'workerId', 'holder', 'name', 'cron', 'timezone', 'url']

/** An exchange without what differs between two systems: times, generated ids, callers, and the words of sentences. */
function shapeOf({ operation, name, answer }: Exchanged): unknown {
  return { operation, name, status: answer.status, body: shapeIn(answer.body, '') }
}

function shapeIn(value: Part, member: string): unknown {
  if (member === 'minutes') return shapeOfMinutes(value)
  if (Array.isArray(value)) return value.filter(isOfConversation).map(one => shapeIn(one, member))
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeIn(one, name)]))
  }
  if (typeof value === 'boolean') return value
  const isWord = WORDS.includes(member) || OWN.includes(member)
  return typeof value === 'string' && isWord ? withoutIds(value) : typeof value
}

/** What happens within one minute of a clock in memory may lie on both sides of a full minute here. */
function shapeOfMinutes(minutes: readonly Part[]): unknown {
  return shapeIn(Object.assign({}, ...minutes), '')
}

/** A list of a whole system has other types, too, and its workers leave the list after 30 silent seconds. */
function isOfConversation(one: Part): boolean {
  if (Array.isArray(one?.types)) return false
  return one?.counts === undefined && one?.ordering === undefined ? true : TYPES.includes(one.type)
}

const TYPES = ['resize', 'montage', 'report']

/** The key of a tick contains its time. */
function withoutIds(text: string): string {
  return text.replaceAll(/[0-9A-HJKMNP-TV-Z]{26}|\d{4}-[\d-]+T[\d:.]+Z/g, '#')
}

/** The fields of each event in a stream: its type, and the names of the members of its data. */
function framesIn(text: string): unknown[] {
  return [...text.matchAll(/id: .+\nevent: (.+)\ndata: (.+)\n\n/g)].map(([, type, data = '']) => ({
    type,
    members: Object.keys(JSON.parse(data)).sort(),
  }))
}

describe('a method that the document does not list', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']
  const paths = Object.entries<Part>(contract.document.paths)

  it.each(paths)('is refused on %s', async (path, methods) => {
    const target = path.replaceAll(/\{\w+\}/g, 'jobs')
    const listed = Object.keys(methods).map(method => method.toUpperCase())
    const served = listed.includes('GET') ? [...listed, 'HEAD'] : listed

    for (const method of METHODS.filter(one => !served.includes(one))) {
      const { status, allow, type } = await sendRaw(method, target)
      expect({ method, status, allow, type }).toEqual({
        method,
        status: 405,
        allow: listed.join(', '),
        type: method === 'HEAD' ? type : 'application/problem+json',
      })
    }
  })

  /** `fetch` does not send every method. */
  function sendRaw(method: string, target: string) {
    return new Promise<{ status?: number; allow?: string; type?: string }>((resolve, reject) => {
      const { hostname, port } = new URL(system.cloud.apiUrl)
      const sent = request({ hostname, port, method, path: target }, answer => {
        answer.resume()
        const { statusCode, headers } = answer
        answer.once('end', () =>
          resolve({
            ...(statusCode !== undefined && { status: statusCode }),
            ...(headers.allow !== undefined && { allow: headers.allow }),
            ...(headers['content-type'] !== undefined && { type: headers['content-type'] }),
          }),
        )
      })
      sent.once('error', reject)
      sent.end()
    })
  }
})
