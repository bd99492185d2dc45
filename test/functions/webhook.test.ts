import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isPrivate, refuseLiteral } from '../../functions/tasks/private-addresses.ts'
import { webhook } from '../../functions/tasks/webhook.ts'
import type { WebhookSettings } from '../../shared/core/task-type.ts'
import type { TaskContext } from '../../shared/define/task-context.ts'
import { Fatal, Next } from '../../shared/signals.ts'

type Received = { path: string; headers: IncomingHttpHeaders; body: string }

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const received: Received[] = []
let server: Server
let url: string

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.headers['x-amz-target'] === 'secretsmanager.GetSecretValue') {
      const { SecretId } = JSON.parse(Buffer.concat(chunks).toString())
      response.writeHead(200).end(JSON.stringify({ SecretString: `secret ${SecretId}` }))
      return
    }
    const path = request.url ?? ''
    received.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() })
    if (path === '/slow') return
    const status = Number(path.slice(1)) || 200
    response.writeHead(status, status === 302 ? { location: `${url}/elsewhere` } : {}).end(`answer ${status}`)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  Object.assign(process.env, {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    BATON_SYSTEM: 'Baton',
  })
})

afterAll(() => {
  server.closeAllConnections()
  server.close()
})

const silent = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

function call(input: unknown, settings: WebhookSettings = { allowPrivate: true }) {
  const context: TaskContext = {
    taskId: 'webhook:k',
    type: 'webhook',
    key: 'k',
    runId: 'r',
    attempt: 2,
    fence: 3,
    idempotencyKey: 'webhook:k/b',
    traceparent: TRACEPARENT,
    signal: new AbortController().signal,
    progress: () => {},
    next: stage => new Next(stage),
    publish: async () => ({ id: '', created: true }),
    log: silent,
    webhook: settings,
  }
  return webhook.run(input, context)
}

describe('a webhook', () => {
  it('POSTs id, type, key, input and attempt, and keeps the answer', async () => {
    const answer = await call({ url: `${url}/200`, order: 7 })

    expect(answer).toEqual({ status: 200, body: 'answer 200' })
    expect(JSON.parse(received.at(-1)?.body ?? '')).toEqual({
      id: 'webhook:k',
      type: 'webhook',
      key: 'k',
      input: { url: `${url}/200`, order: 7 },
      attempt: 2,
    })
    expect(received.at(-1)?.headers).toMatchObject({
      'content-type': 'application/json',
      'baton-idempotency-key': 'webhook:k/b',
      traceparent: TRACEPARENT,
    })
  })

  it('is signed so that the receiver can check time and body', async () => {
    await call({ url }, { allowPrivate: true, secretName: 'orders' })

    const { headers, body } = received.at(-1) as Received
    const [, seconds, digest] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['baton-signature'])) ?? []
    expect(Math.abs(Number(seconds) - Date.now() / 1_000)).toBeLessThan(5)
    expect(digest).toBe(
      createHmac('sha256', 'secret Baton/webhook/orders').update(`${seconds}.${body}`).digest('hex'),
    )
  })

  it.each([200, 204, 302, 399])('succeeds with status %i; a redirect is not followed', async status => {
    await expect(call({ url: `${url}/${status}` })).resolves.toMatchObject({ status })

    expect(received.at(-1)?.path).toBe(`/${status}`)
  })

  it.each([400, 404, 500, 503])('fails with status %i, to be retried', async status => {
    const failure = (await Promise.resolve(call({ url: `${url}/${status}` })).catch(error => error)) as Error

    expect(failure).toBeInstanceOf(Error)
    expect(failure).not.toBeInstanceOf(Fatal)
    expect(failure.message).toContain(String(status))
  })

  it('fails when the receiver does not answer within the limit', async () => {
    const before = Date.now()

    await expect(call({ url: `${url}/slow` }, { allowPrivate: true, timeoutMs: 150 })).rejects.toThrow()

    expect(Date.now() - before).toBeLessThan(1_000)
  })

  it('calls the URL of its type, when that has one', async () => {
    await call({ url: `${url}/500` }, { url: `${url}/200`, allowPrivate: true })

    expect(received.at(-1)?.path).toBe('/200')
  })

  it.each([
    ['no URL', { order: 1 }],
    ['no object', 'http://example.com'],
    ['another scheme', { url: 'file:///etc/passwd' }],
    ['no URL at all', { url: 'nonsense' }],
  ])('fails for good when its input has %s', async (_name, input) => {
    await expect(Promise.resolve().then(() => call(input))).rejects.toBeInstanceOf(Fatal)
  })

  it.each([
    ['a loopback address', () => url],
    ['a name that leads to one', () => url.replace('127.0.0.1', 'localhost')],
    ['an odd spelling of one', () => url.replace('127.0.0.1', '0x7f.1')],
    ['the metadata service', () => 'http://169.254.169.254/latest/meta-data'],
  ])('refuses %s unless the type allows it', async (_name, target) => {
    const before = received.length

    const failure = (await Promise.resolve(call({ url: target() }, {})).catch(error => error)) as Error

    expect(failure).toBeInstanceOf(Fatal)
    expect(failure.message).toContain('allowPrivate')
    expect(received.length).toBe(before)
  })
})

describe('private addresses', () => {
  it.each([
    '127.0.0.1',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '0.0.0.0',
    '224.0.0.1',
    '255.255.255.255',
    '::1',
    '::',
    'fe80::1',
    'fc00::1',
    '::ffff:127.0.0.1',
    '::ffff:a00:1',
    'not an address',
  ])('%s is one', address => {
    expect(isPrivate(address)).toBe(true)
  })

  it.each(['8.8.8.8', '93.184.216.34', '2606:4700::1111', '::ffff:8.8.8.8'])('%s is none', address => {
    expect(isPrivate(address)).toBe(false)
  })

  it('are refused as literals of a URL, in brackets too', () => {
    expect(() => refuseLiteral(new URL('http://[::1]/'))).toThrow('::1 is a private address')
    expect(() => refuseLiteral(new URL('http://example.com/'))).not.toThrow()
  })
})
