import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aReceiver, type TestReceiver } from '../../support/http/a-receiver.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const TRACE_ID = '0af7651916cd43dd8448eb211c80319c'
const TRACEPARENT = `00-${TRACE_ID}-b7ad6b7169203331-01`

const system = aLocalSystem()
let receiver: TestReceiver

beforeAll(async () => {
  const refusedOnce = new Set<string>()
  receiver = await aReceiver(({ url = '' }, response) => {
    if (url.startsWith('/redirect')) return response.writeHead(307, { location: '/elsewhere' }).end()
    const isFirst = url === '/flaky' && !refusedOnce.has(url)
    refusedOnce.add(url)
    response.writeHead(isFirst ? 503 : 200).end('private words')
  })
})

afterAll(() => receiver?.stop())

async function register(type: string, webhook: object): Promise<void> {
  const defaults = { retry: { maxRetries: 1, backoff: 'fixed', delayMs: 100 } }
  const { status } = await system.call('PUT', `/v1/types/${type}`, { kind: 'webhook', webhook, defaults })
  expect(status).toBe(201)
}

const receivedAt = (path: string) => receiver.received.filter(one => one.path === path)

it('a trace given at publish reaches the receiver of a webhook, and stays in the task and its history', async () => {
  await register('notify', { url: `${receiver.url}/flaky`, allowPrivate: true })

  const id = await system.publish({ type: 'notify', key: 'traced', traceparent: TRACEPARENT })
  const task = await system.taskWhen(id, ({ status }) => status === 'succeeded')

  expect(receivedAt('/flaky')).toHaveLength(2)
  for (const { headers } of receivedAt('/flaky'))
    expect(headers.traceparent).toMatch(new RegExp(`^00-${TRACE_ID}-[0-9a-f]{16}-01$`))
  expect(task.history.map(({ traceId }: { traceId: string }) => traceId)).toEqual([TRACE_ID, TRACE_ID])
})

it('a key in any script is delivered at the first run, in ASCII in the header', async () => {
  await register('tell', { url: `${receiver.url}/told`, allowPrivate: true })

  const id = await system.publish({ type: 'tell', key: 'größe-заказ-七-🥊' })
  const task = await system.taskWhen(id, ({ status }) => status === 'succeeded')

  expect(task.runs).toHaveLength(1)
  const [told] = receivedAt('/told')
  expect(decodeURIComponent(String(told?.headers['baton-idempotency-key']))).toContain(`${id}/`)
  expect(JSON.parse(told?.body ?? '')).toMatchObject({ id, key: 'größe-заказ-七-🥊' })
})

it('a webhook without a receiver shows the error in the task, and in one line of the log', async () => {
  await register('nobody', { url: 'http://127.0.0.1:65533/', allowPrivate: true })

  const id = await system.publish({ type: 'nobody', key: 'x', retry: { maxRetries: 0 } })
  const task = await system.taskWhen(id, ({ status }) => status === 'failed')

  expect(JSON.stringify(task.error)).toContain('ECONNREFUSED')
  const lines = () => {
    const logged = system.cloud.functions.find('HandlersWebhook').logs.filter(line => line.startsWith('{'))
    return logged.map(line => JSON.parse(line)).filter(line => line.taskId === id)
  }
  await expect
    .poll(lines)
    .toMatchObject([{ level: 'WARN', message: 'run failed', nextTry: 'never', status: 'failed' }])
})

describe('a private address', () => {
  it('is not reached by a URL of an input, or of a type without `allowPrivate`, even after a permitted connection to it', async () => {
    const path = '/permitted'
    await register('permitted', { url: receiver.url + path, allowPrivate: true })
    await register('not-permitted', { url: receiver.url + path })
    const permitted = await system.publish({ type: 'permitted' })
    await system.taskWhen(permitted, ({ status }) => status === 'succeeded')
    const before = receiver.connections()

    const { port } = receiver
    const urls = [
      receiver.url + path,
      `http://localhost:${port}${path}`,
      `http://2130706433:${port}${path}`,
      `http://[::ffff:7f00:1]:${port}${path}`,
      `http://[::127.0.0.1]:${port}${path}`,
      'http://169.254.169.254/latest/meta-data/',
    ]
    const ids = await Promise.all([
      ...[1, 2, 3].map(() => system.publish({ type: 'not-permitted' })),
      ...urls.map(url => system.publish({ type: 'webhook', input: { url } })),
      ...urls.map(url => system.publish({ type: 'word-count', input: { url } })),
    ])
    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, ({ status }) => status === 'failed')))

    expect(tasks.map(({ runs, error }) => [runs.length, error.name])).toEqual(tasks.map(() => [1, 'Fatal']))
    expect(receivedAt(path)).toHaveLength(1)
    expect(receiver.connections()).toBe(before)
  })

  it('is not reached by a redirect: the run fails, and the error names the redirect', async () => {
    await register('redirected', { url: `${receiver.url}/redirect?token=hidden`, allowPrivate: true })

    const id = await system.publish({ type: 'redirected' })
    const task = await system.taskWhen(id, ({ status }) => status === 'failed')

    expect(task.runs).toHaveLength(2)
    expect(task.error.message).toContain(`${receiver.url} answered 307, a redirect to ${receiver.url}`)
    expect(JSON.stringify(task)).not.toContain('hidden')
    expect(receivedAt('/elsewhere')).toEqual([])
  })
})
