import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aFolder } from '../../support/a-folder.ts'
import { listeningSockets } from '../../support/http/listening-sockets.ts'
import { type RawAnswer, sendRaw } from '../../support/http/raw-http.ts'
import type { LocalProcess } from '../../support/local-system/local-process.ts'
import { javaOf, processesOf, startLocalProcess } from '../../support/local-system/local-process.ts'
import { testAssembly } from '../synthesise.ts'

/**
 * Tests the local system as a developer runs it: in a process of its own, with a DynamoDB Local on files. Raw requests stand for web
 * pages. They have exactly the headers that Chromium sends: `Origin`, `Sec-Fetch-*`, and the host of the page's address.
 */
const dataDir = aFolder()
let system: LocalProcess
let apiPort: number
let gatewayPort: number

beforeAll(async () => {
  system = await startLocalProcess({ assemblyDir: await testAssembly(), stackName: 'Baton', dataDir })
  apiPort = Number(new URL(system.apiUrl).port)
  gatewayPort = Number(new URL(system.endpoint).port)
})

afterAll(() => void system?.child.kill('SIGKILL'))

type Headers = Readonly<Record<string, string>>

const FORM = 'application/x-www-form-urlencoded'

function send(port: number, method: string, path: string, headers: Headers, body = ''): Promise<RawAnswer> {
  const { Host = `127.0.0.1:${port}`, ...others } = headers
  const lines = Object.entries({ Host, ...others }).map(([name, value]) => `${name}: ${value}`)
  const length = body === '' ? [] : [`Content-Length: ${Buffer.byteLength(body)}`]
  return sendRaw(port, [`${method} ${path} HTTP/1.1`, ...lines, ...length], body)
}

const json = { 'Content-Type': 'application/json' }

async function call(method: string, path: string, body?: object): Promise<{ status: number; body: Shown }> {
  const response = await fetch(system.apiUrl + path, {
    method,
    ...(body && { headers: json, body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) }
}

// biome-ignore lint/suspicious/noExplicitAny: tests read answers as their users do, without types
type Shown = any

/** Sends a request for the list of tables to a DynamoDB server, signed with any access key. */
function listTables(port: number, accessKey: string, headers: Headers = {}): Promise<RawAnswer> {
  const authorization = `AWS4-HMAC-SHA256 Credential=${accessKey}/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0`
  const target = { 'X-Amz-Target': 'DynamoDB_20120810.ListTables', Authorization: authorization }
  const all = { 'Content-Type': 'application/x-amz-json-1.0', ...target, ...headers }
  return send(port, 'POST', '/', all, '{}')
}

const accessKey = () => readFileSync(join(dataDir, 'access-key'), 'utf8').trim()

describe.runIf(process.platform === 'linux')(
  'every listening socket of the local system and its processes',
  () => {
    it('is on loopback, or shows no table without the access key', async () => {
      const processes = await processesOf(system.child.pid ?? 0)
      const sockets = listeningSockets(processes.map(({ pid }) => pid))
      const open = sockets.filter(({ isLoopback }) => !isLoopback)
      const java = await javaOf(system.child.pid ?? 0)

      expect(processes.length).toBeGreaterThan(6)
      expect(sockets.map(({ port }) => port)).toEqual(expect.arrayContaining([apiPort, gatewayPort]))
      expect(new Set(open.map(({ pid }) => pid))).toEqual(new Set([java]))
      for (const { port } of open) {
        expect(JSON.parse((await listTables(port, accessKey())).body).TableNames).not.toEqual([])
        for (const key of ['local', 'tester', accessKey().toUpperCase(), '0'.repeat(32)])
          expect(JSON.parse((await listTables(port, key)).body)).toEqual({ TableNames: [] })
        expect((await send(port, 'GET', '/', {})).status).toBe(400)
        expect((await send(port, 'GET', '/shell/', {})).status).toBe(400)
      }
    })

    it('and every file of the data folder can be read only by its owner', () => {
      const isPrivate = (name: string) => (statSync(join(dataDir, name)).mode & 0o077) === 0

      for (const name of ['access-key', 'dynamodb', 'sqs', 'deployed.json'])
        expect([name, isPrivate(name)]).toEqual([name, true])
    })
  },
)

const EVIL = 'https://evil.example'
const crossSite = { Origin: EVIL, 'Sec-Fetch-Site': 'cross-site' }

const noCors = { ...crossSite, 'Sec-Fetch-Mode': 'no-cors' }
const preflight = { ...crossSite, 'Sec-Fetch-Mode': 'cors', 'Access-Control-Request-Method': 'POST' }
const sameOrigin = { Host: 'rebound', 'Sec-Fetch-Site': 'same-origin' }
const PUBLISH = 'POST /v1/tasks'
const LIST = 'GET /v1/tasks?type=safe'

/** Requests that a page can make its browser send to the API. A publish has a task as its body. */
const PAGES: ReadonlyArray<readonly [string, string, Headers]> = [
  ['a simple post of text', PUBLISH, { ...noCors, 'Content-Type': 'text/plain;charset=UTF-8' }],
  ['a simple post without a type', PUBLISH, noCors],
  ['a form', PUBLISH, { ...crossSite, 'Sec-Fetch-Mode': 'navigate', 'Content-Type': FORM }],
  ['a form of an older browser', PUBLISH, { Origin: EVIL, 'Content-Type': FORM }],
  ['a sandboxed frame', PUBLISH, { ...crossSite, Origin: 'null', ...json }],
  ['a post without a body', 'POST /v1/types/safe/pause', noCors],
  ['the preflight of a post', 'OPTIONS /v1/tasks', preflight],
  [
    'the preflight of a private network',
    'OPTIONS /v1/tasks',
    { ...preflight, 'Access-Control-Request-Private-Network': 'true' },
  ],
  ['a post as after a preflight', PUBLISH, { ...crossSite, 'Sec-Fetch-Mode': 'cors', ...json }],
  [
    'a page of another local port',
    PUBLISH,
    { Origin: 'http://127.0.0.1:3000', 'Sec-Fetch-Site': 'same-site', ...json },
  ],
  ['a read', LIST, { ...crossSite, 'Sec-Fetch-Mode': 'cors' }],
  ['an image', LIST, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'no-cors' }],
  ['a link', LIST, { 'Sec-Fetch-Site': 'cross-site', 'Sec-Fetch-Mode': 'navigate' }],
  ['an event stream', 'GET /v1/events', { ...crossSite, Accept: 'text/event-stream' }],
  ['an event stream of an older browser', 'GET /v1/events', { Origin: EVIL }],
  ['a rebound name that reads', LIST, sameOrigin],
  ['a rebound name that writes', PUBLISH, { ...sameOrigin, Origin: 'rebound', ...json }],
  ['a rebound name that listens', 'GET /v1/events', sameOrigin],
  [
    'a rebound name of an older browser',
    'DELETE /v1/tasks/safe:kept',
    { Host: 'rebound', Origin: 'rebound' },
  ],
]

/** Fills in the host `rebound`: a name that the page's owner points at 127.0.0.1 after the page has been loaded. */
function rebound(headers: Headers): Headers {
  const host = `evil.example:${apiPort}`
  const origin = headers.Origin === 'rebound' ? { Origin: `http://${host}` } : {}
  return headers.Host === 'rebound' ? { ...headers, Host: host, ...origin } : headers
}

describe('a web page', () => {
  const task = JSON.stringify({ type: 'safe', key: 'planted' })

  beforeAll(async () => {
    await call('PUT', '/v1/types/safe', { kind: 'http' })
    await call('POST', '/v1/tasks', { type: 'safe', key: 'kept', input: { secret: true } })
  })

  it.each(PAGES)('of another origin changes and reads nothing by %s', async (_by, request, headers) => {
    const [method = '', path = ''] = request.split(' ')
    const answer = await send(apiPort, method, path, rebound(headers), request === PUBLISH ? task : '')

    expect([answer.status, answer.headers['content-type']]).toEqual([403, 'application/problem+json'])
    expect(answer.headers['access-control-allow-origin']).toBeUndefined()
    expect(answer.body).not.toContain('safe:')
    expect((await call('GET', '/v1/tasks/safe:planted')).status).toBe(404)
    expect((await call('GET', '/v1/tasks/safe:kept')).body).toMatchObject({ status: 'ready' })
    expect((await call('GET', '/v1/types/safe')).body.paused).toBe(false)
  })

  const signedFor = (service: string) => ({
    Authorization: `AWS4-HMAC-SHA256 Credential=tester/20260101/us-east-1/${service}/aws4_request, Signature=0`,
  })
  const text = { 'Content-Type': 'text/plain', ...crossSite }
  const form = { 'Content-Type': FORM, ...crossSite }
  const byName = () => ({
    ...{ Host: `evil.example:${gatewayPort}`, 'X-Amz-Target': 'AmazonSQS.ListQueues' },
    ...signedFor('sqs'),
  })
  const inside = () =>
    [
      ['the queues', 'POST', '/', form, 'Action=ListQueues&Version=2012-11-05'],
      ['the queues, without a preflight', 'POST', '/', text, '{"QueueName":"planted"}'],
      ['the queues, by a rebound name', 'POST', '/', byName(), '{}'],
      ['functions', 'POST', '/2015-03-31/functions/Baton-Tasks/invocations', {}, '{}'],
      ['schedules', 'GET', '/schedules', signedFor('scheduler'), ''],
    ] as const

  it('and a program without the key reach none of the services behind the API', async () => {
    for (const [what, method, path, headers, body] of inside()) {
      const answer = await send(gatewayPort, method, path, headers, body)
      const origin = answer.headers['access-control-allow-origin']
      expect([what, answer.status, origin]).toEqual([what, 403, undefined])
    }
    expect((await listTables(gatewayPort, 'tester')).status).toBe(403)
    const token = { 'X-Amz-Security-Token': system.sessionToken }
    expect((await listTables(gatewayPort, 'tester', token)).status).toBe(200)
  })

  it('of the API itself can call it, and so can a program under each name of this machine', async () => {
    const host = `localhost:${apiPort}`
    const own = { Host: host, Origin: `http://${host}`, 'Sec-Fetch-Site': 'same-origin', ...json }
    const { status } = await send(apiPort, 'PUT', '/v1/types/own', own, '{"kind":"http"}')
    const byHand = { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' }
    const typed = await send(apiPort, 'GET', '/healthz', byHand)
    const names = await Promise.all(
      ['localhost', 'LOCALHOST', '127.0.0.1', '[::1]'].map(name =>
        send(apiPort, 'GET', '/healthz', { Host: `${name}:${apiPort}` }),
      ),
    )

    expect([status, typed.status, ...names.map(answer => answer.status)]).toEqual([
      201, 200, 200, 200, 200, 200,
    ])
  })
})

describe('an odd request', () => {
  const POST = 'POST /v1/tasks HTTP/1.1'
  const JSON_TYPE = 'Content-Type: application/json'
  const LARGE = Buffer.alloc(11 * 1024 * 1024, 'x')
  const ODD: ReadonlyArray<readonly [string, number, readonly string[], string | Buffer]> = [
    ['TRACE', 405, ['TRACE /healthz HTTP/1.1'], ''],
    ['a GET with a body', 400, ['GET /healthz HTTP/1.1', JSON_TYPE, 'Content-Length: 2'], '{}'],
    [
      'a GET with a body in chunks',
      400,
      ['GET /v1/types HTTP/1.1', 'Transfer-Encoding: chunked'],
      '2\r\n{}\r\n0\r\n\r\n',
    ],
    ['a body of more than 10 MB', 413, [POST, JSON_TYPE, `Content-Length: ${LARGE.length}`], LARGE],
    ['a line break in lastEventId', 400, ['GET /v1/events?lastEventId=%0Adata:%20x HTTP/1.1'], ''],
    ['a body of text', 415, [POST, 'Content-Type: text/plain', 'Content-Length: 2'], '{}'],
  ]

  it.each(ODD)('%s is answered %d with a problem document', async (_what, status, head, body) => {
    const answer = await sendRaw(apiPort, [...head, `Host: 127.0.0.1:${apiPort}`], body)

    expect([answer.status, answer.headers['content-type']]).toEqual([status, 'application/problem+json'])
    expect(answer.headers.allow).toBe(status === 405 ? 'GET' : undefined)
    expect(answer.body).toContain('"detail":')
  })

  it.each(['Host: [', 'Host: ', 'Host: 127.0.0.1:1', 'Host: 0.0.0.0', 'Host: localhost'])(
    'with %s is a 403 with a problem document',
    async host => {
      const answer = await sendRaw(apiPort, ['GET /healthz HTTP/1.1', host])

      expect([answer.status, answer.headers['content-type']]).toEqual([403, 'application/problem+json'])
      expect(answer.body).toContain(`localhost:${apiPort}`)
    },
  )
})

it('/healthz shows a DynamoDB Local that hangs, and one that dies is started again with its tables', async () => {
  await call('POST', '/v1/tasks', { type: 'safe', key: 'outlives' })
  const java = await javaOf(system.child.pid ?? 0)
  process.kill(java, 'SIGSTOP')
  // A request that was under way when the process stopped may still be answered.
  await expect
    .poll(() => call('GET', '/healthz'))
    .toMatchObject({ status: 503, body: { status: 503, down: ['DynamoDB Local'] } })
  process.kill(java, 'SIGKILL')

  await expect.poll(async () => (await call('GET', '/healthz')).status).toBe(200)
  const kept = await call('GET', '/v1/tasks/safe:outlives')
  const claimed = await call('POST', '/v1/claims', { type: 'safe', workerId: 'w', limit: 10, waitMs: 20_000 })

  expect(kept).toMatchObject({ status: 200, body: { key: 'outlives' } })
  expect(claimed.body.claims.map(({ task }: Shown) => task.key)).toContain('outlives')
  expect(await javaOf(system.child.pid ?? 0)).not.toBe(java)
})
