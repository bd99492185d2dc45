import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest'
import { runPath } from '../../../shared/api/paths.ts'
import { type Operation, type Part, readContract } from '../../support/conformance/contract.ts'
import { type LocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'

/** The examples of the OpenAPI document, sent to the local system as they stand, in an order in which each finds what it needs. */

const contract = readContract()
let system: LocalSystem
beforeAll(async () => {
  system = await startLocalSystem()
  await system.call('PUT', '/v1/types/montage', { kind: 'http' })
})
afterAll(() => system?.stop())

/** The order of the operations that need others before them. All other operations come after these. */
const FIRST = [
  'putType',
  'publish',
  'publishMany',
  'get',
  'list',
  'why',
  'patch',
  'heartbeat',
  'release',
  'fail',
]
/** The operations after which others would find nothing. */
const LAST = ['cancel', 'retry', 'remove', 'cancelCanvas', 'removeSchedule', 'purge']
const NEEDED_FIRST = ['publishCanvas', 'putSchedule']

const named = (name: string) => contract.operations.find(one => one.name === name) as Operation
const others = contract.operations
  .map(({ name }) => name)
  .filter(name => ![...FIRST, ...NEEDED_FIRST, ...LAST, 'events', 'previous'].includes(name))
const ORDER = [...FIRST, ...NEEDED_FIRST, ...others, ...LAST]

/** The answers that the examples get. Every other one gets 200. */
const STATUS: Readonly<Record<string, number>> = {
  putType: 201,
  publish: 201,
  publishCanvas: 201,
  putSchedule: 201,
  triggerSchedule: 202,
  purge: 202,
  remove: 204,
  removeSchedule: 204,
}

/** The operations whose example names a run, which only a claim makes. */
const OF_RUNS = ['heartbeat', 'succeed', 'fail', 'release', 'heartbeatMany', 'finishMany']

describe('the example of', () => {
  test.each(ORDER)('%s gets an answer as the document describes it', async name => {
    const operation = named(name)
    const example = exampleOf(operation)
    const { target, body } = OF_RUNS.includes(name) ? await aboutARun(operation, example) : example

    const answer = await send(operation.method, target, body)

    expect({ status: answer.status, text: answer.text.slice(0, 500) }).toMatchObject({
      status: STATUS[name] ?? 200,
    })
    expect(contract.faultsOf(operation, answer)).toEqual([])
  })

  it('previous is for a task that was handed a list', async () => {
    const answer = await send('GET', exampleOf(named('previous')).target, undefined)

    expect(answer.status).toBe(404)
    expect(contract.faultsOf(named('previous'), answer)).toEqual([])
  })

  it('events begins a stream', async () => {
    const response = await fetch(new URL(exampleOf(named('events')).target, system.cloud.apiUrl))

    expect([response.status, response.headers.get('content-type')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
    ])
    await response.body?.cancel()
  })
})

type Example = { readonly target: string; readonly body: Part }

function exampleOf({ path, parameters, name }: Operation): Example {
  const operation = contract.document.paths[path]
  const body = Object.values<Part>(operation).find(one => one.operationId === name)?.requestBody?.content[
    'application/json'
  ].example
  const inPath = parameters.filter(one => one.in === 'path')
  const given = parameters.filter(one => one.in === 'query' && one.example !== undefined)
  const query = new URLSearchParams(
    given.flatMap(one => [one.example].flat().map((value): [string, string] => [one.name, String(value)])),
  )
  const filled = inPath.reduce(
    (text, one) => text.replace(`{${one.name}}`, encodeURIComponent(one.example)),
    path,
  )
  return { target: query.size > 0 ? `${filled}?${query}` : filled, body }
}

/** The example with the run of a task that a worker has claimed just now. */
async function aboutARun({ path, name }: Operation, { body }: Example): Promise<Example> {
  await system.publish({ type: 'montage', key: `for-${name}` })
  const claimed = await system.call('POST', '/v1/claims', {
    type: 'montage',
    workerId: 'worker-1',
    waitMs: 5_000,
  })
  const [{ task, run }] = claimed.body.claims
  const { fence } = run
  if (!path.includes('{runId}'))
    return {
      target: path,
      body: { runs: body.runs.map((one: Part) => ({ ...one, taskId: task.id, runId: run.id, fence })) },
    }
  return { target: runPath(task.id, run.id, path.split('/').at(-1) ?? ''), body: { ...body, fence } }
}

async function send(method: string, target: string, body: Part) {
  const response = await fetch(new URL(target, system.cloud.apiUrl), {
    method,
    ...(body !== undefined && {
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
  })
  return { status: response.status, headers: response.headers, text: await response.text() }
}

describe('a method that the document does not list', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'QUERY']
  const paths = Object.entries<Part>(contract.document.paths)

  test.each(paths)('is refused on %s', async (path, methods) => {
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
