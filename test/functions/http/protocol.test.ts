import { describe, expect, it } from 'vitest'
import { createApi } from '../../../functions/http/create-api.ts'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { ALL_OPERATIONS } from '../../../shared/service/operations.ts'
import { anApi, claimed, published } from '../../support/http/an-api.ts'
import { aMemorySystem, aTaskStore, type MemorySystem } from '../../support/worlds/memory-system.ts'

const api = await anApi()

it('a whole number of 16 digits in the query is a number', async () => {
  const remove = (revision: string) =>
    api.call('DELETE', `${pathOf('get', 'jobs:none')}?ifRevision=${revision}`)

  expect((await remove('9007199254740991')).status).toBe(404)
  expect((await remove('9007199254740993')).status).toBe(400)
})

describe('a body', () => {
  const json = JSON.stringify({ type: 'jobs' })

  it.each([
    ['application/json', 201],
    ['application/json; charset=utf-8', 201],
    ['application/vnd.baton+json', 201],
    ['APPLICATION/JSON ;charset=utf-8', 201],
    ['text/plain;charset=UTF-8', 415],
    ['text/plain; application/json', 415],
    ['application/x-www-form-urlencoded', 415],
    ['application/xml', 415],
    ['multipart/form-data; boundary=x', 415],
    ['application/jsonx', 415],
  ])('of the content type %s is answered with %d', async (contentType, status) => {
    const answer = await api.call('POST', '/v1/tasks', json, { 'content-type': contentType })

    expect(answer.status).toBe(status)
  })

  it('without a content type is a 415, because a web page can send it to any address', async () => {
    const request = new Request('http://localhost/v1/tasks', {
      method: 'POST',
      body: new TextEncoder().encode(json),
    })
    const response = await api.app.request(request)

    expect(response.status).toBe(415)
    expect(await response.json()).toMatchObject({ detail: expect.stringContaining('application/json') })
  })

  it('must be JSON even where the route ignores it; an absent body needs no content type', async () => {
    const cancel = pathOf('get', await published(api)).concat('/cancel')

    expect((await api.call('POST', cancel, 'now', { 'content-type': 'text/plain' })).status).toBe(415)
    expect((await api.call('POST', cancel, '{}')).status).toBe(200)
    expect((await api.call('POST', cancel)).status).toBe(200)
    expect((await api.call('POST', cancel, '', { 'content-type': 'text/plain' })).status).toBe(200)
  })

  it.each(['', '{', '{"type":', 'nonsense', '{"type":"jobs"}}', 'NaN'])(
    'that is not JSON, %j, is a 400',
    async body => {
      const answer = await api.call('POST', '/v1/tasks', body)

      expect(answer.status).toBe(400)
      expect(answer.body.errors[0].path).toBe('')
    },
  )

  it('that is not UTF-8 is a 400', async () => {
    const body = new Uint8Array([...new TextEncoder().encode('{"type":"jobs","key":"'), 0xff, 0x22, 0x7d])
    const headers = { 'content-type': 'application/json' }
    const response = await api.app.request('/v1/tasks', { method: 'POST', body, headers })

    expect(response.status).toBe(400)
  })

  it('with a content encoding is a 415', async () => {
    expect((await api.call('POST', '/v1/tasks', json, { 'content-encoding': 'gzip' })).status).toBe(415)
  })

  it('of more than 4 MB is a 413, with or without an announced length', async () => {
    const tooLong = JSON.stringify({ tasks: [{ type: 'jobs', input: 'é'.repeat(2_100_000) }] })
    const fitting = JSON.stringify({ tasks: [{ type: 'jobs', input: 'e'.repeat(4_000_000) }] })
    const stream = new Request('http://localhost/v1/tasks/batch', {
      method: 'POST',
      body: new Blob([tooLong]).stream(),
      headers: { 'content-type': 'application/json' },
      duplex: 'half',
    } as RequestInit)

    expect((await api.call('POST', '/v1/tasks/batch', tooLong)).status).toBe(413)
    expect((await api.app.request(stream)).status).toBe(413)
    expect((await api.call('POST', '/v1/tasks/batch', fitting)).status).toBe(200)
  })
})

describe('a path', () => {
  it.each([
    ['GET', '/'],
    ['GET', '/v1'],
    ['GET', '/v1/tasks/'],
    ['GET', '/v2/tasks'],
    ['GET', '/v1/canvas'],
    ['POST', '/v1/types/jobs/stop'],
    ['GET', '/v1/tasks/nothing'],
    ['GET', '/v1/tasks/jobs:nothing'],
    ['GET', `/v1/tasks/jobs:${'x'.repeat(3_000)}`],
    ['POST', '/v1/tasks/jobs:nothing/runs/1/heartbeat', { fence: 1 }],
    ['GET', '/v1/tasks?type=nothing'],
  ])('%s %s names no resource and is a 404', async (method, path, body?: object) => {
    const answer = await api.call(method, path, body)

    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.body.detail.length).toBeGreaterThan(10)
  })

  it.each([
    ['PUT', '/v1/tasks', 'POST, GET'],
    ['POST', '/v1/tasks/jobs:a', 'GET, PATCH, DELETE'],
    ['GET', '/v1/claims', 'POST'],
    ['DELETE', '/v1/types/jobs', 'GET, PUT'],
    ['POST', '/healthz', 'GET'],
    ['DELETE', '/v1/tasks/jobs:a/cancel', 'POST'],
    ['GET', '/v1/types/jobs/pause', 'POST'],
  ])('%s %s is a 405 that names the allowed methods', async (method, path, allow) => {
    const answer = await api.call(method, path)

    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
  })

  it('of the route table answers a 405 with exactly the methods of that path', async () => {
    const byPath = Map.groupBy(ALL_OPERATIONS, ({ path }) => path.replace(/\{\w+\}/g, 'jobs:a'))
    for (const [path, routes] of byPath) {
      const answer = await api.call('OPTIONS', path)
      const methods = routes.map(({ method }) => method.toUpperCase())

      expect([answer.status, path, answer.headers.get('allow')]).toEqual([405, path, methods.join(', ')])
      const beyond = await api.call('OPTIONS', `${path}/no/thing`)
      expect([404, path, null]).toEqual([beyond.status, path, beyond.headers.get('allow')])
    }
  })

  it('reports its version', async () => {
    const app = createApi(api.system, ALL_OPERATIONS, { version: '1.4.2' })

    expect(await (await app.request('/healthz')).json()).toEqual({ status: 'ok', version: '1.4.2' })
  })

  it('answers HEAD like GET, without the body', async () => {
    const response = await api.app.request('/healthz', { method: 'HEAD' })

    expect(response.status).toBe(200)
    expect(await response.text()).toBe('')
  })
})

describe('an id', () => {
  const KEYS = [
    'a/b',
    'a#b',
    '100%',
    '%41',
    '%2F',
    'ä ö',
    '日本語',
    '😀'.repeat(200),
    'a:b:c',
    'a/cancel',
    '?x=1',
    '..',
    '\\',
    '+',
    '~',
    '~YTpi',
  ]

  it.each(KEYS)(
    'with the key %j is found, changed, cancelled and removed by the path in Location',
    async key => {
      const { body, headers } = await api.call('POST', '/v1/tasks', { type: 'jobs', key })
      const path = headers.get('location') ?? ''
      expect(body.id).toBe(`jobs:${key}`)

      expect((await api.call('GET', path)).body.key).toBe(key)
      expect((await api.call('PATCH', path, { priority: 1 })).body.task.priority).toBe(1)
      expect((await api.call('POST', `${path}/cancel`)).body.task.status).toBe('cancelled')
      expect((await api.call('POST', `${path}/retry`)).headers.get('location')).toBe(path)
      expect((await api.call('DELETE', path)).status).toBe(204)
    },
  )

  it.each(['a/b', 'a#b', 'c\\d', '100%', 'x%41', '😀'])(
    'with the key %j is a 400 when it is percent-encoded, and the problem says what is legal',
    async key => {
      await published(api, { key })

      const answer = await api.call('DELETE', `/v1/tasks/${encodeURIComponent(`jobs:${key}`)}`)

      expect(answer.status).toBe(400)
      expect(answer.body.errors).toMatchObject([
        { path: 'id', message: expect.stringContaining('base64url') },
      ])
    },
  )

  it.each(['~', '~YQ', '~!', '~_w', '~YQ%3D%3D', '%FF', '~Y Q'])(
    'in the form %s names no task',
    async segment => {
      expect([400, 404]).toContain((await api.call('GET', `/v1/tasks/${segment}`)).status)
    },
  )

  it('may be in base64url in every path, also in paths of runs and types', async () => {
    const encoded = (text: string) => `~${Buffer.from(text).toString('base64url')}`
    const other = await anApi()
    await published(other, { key: 'a' })
    const { runId, fence } = await claimed(other)

    const beat = `/v1/tasks/${encoded('jobs:a')}/runs/${encoded(runId)}/heartbeat`
    expect((await other.call('POST', beat, { fence })).status).toBe(200)
    expect((await other.call('GET', `/v1/types/${encoded('jobs')}/counts`)).body.running).toBe(1)
  })

  it('of a schedule or a canvas cannot begin like the encoded form of another id', async () => {
    const leaf = { type: 'jobs' }
    const schedule = { everyMs: 60_000, task: leaf }
    const tilde = `/v1/schedules/~${Buffer.from('~a').toString('base64url')}`
    const put = await api.call('PUT', tilde, schedule)
    const canvas = await api.call('POST', '/v1/canvases', { key: '~a', group: [leaf] })

    expect([put.status, put.body.errors[0].path]).toEqual([400, 'name'])
    expect([canvas.status, canvas.body.errors[0].path]).toEqual([400, 'key'])
  })

  it('that a URL parser would take for dot segments names its own task', async () => {
    const type = await api.call('PUT', '/v1/types/~Li4', { kind: 'http' })
    const schedule = await api.call('PUT', '/v1/schedules/~Lg', {
      everyMs: 60_000,
      task: { type: 'jobs' },
    })

    expect([type.status, type.body.type, type.headers.get('location')]).toEqual([201, '..', '/v1/types/~Li4'])
    expect([schedule.status, schedule.body.name, schedule.headers.get('location')]).toEqual([
      201,
      '.',
      '/v1/schedules/~Lg',
    ])
  })
})

describe('an error', () => {
  const failing = (error: unknown) => ({
    ...aTaskStore(),
    head: async () => {
      throw error
    },
    apply: async () => {
      throw error
    },
  })

  it('that is unexpected is a 500 that shows nothing but the request id', async () => {
    const broken = await anApi({ tasks: failing(new Error('secret table name')) })
    const answer = await broken.call('GET', '/v1/tasks/jobs:a')

    expect(answer.status).toBe(500)
    expect(JSON.stringify(answer.body)).not.toContain('secret')
    expect(answer.headers.get('x-request-id')).toBe(answer.body.requestId)
    expect(broken.complaints.at(-1)?.fields).toMatchObject({ requestId: answer.body.requestId })
  })

  it('with one member of a batch leaves the other members alone', async () => {
    const store = aTaskStore()
    const apply: typeof store.apply = async change => {
      if (change.after.key === 'bad') throw new BatonError('unavailable', 'throttled')
      return store.apply(change)
    }
    const half = await anApi({ tasks: { ...store, apply } })
    const { body } = await half.call('POST', '/v1/tasks/batch', {
      tasks: [
        { type: 'jobs', key: 'good' },
        { type: 'jobs', key: 'bad' },
      ],
    })

    expect(body.results.map(({ status }: { status: number }) => status)).toEqual([201, 503])
  })

  it('about data of a newer version says so', async () => {
    const newer = await anApi({
      tasks: failing(new BatonError('newer-schema', 'jobs:a has form 2; this is 1')),
    })

    expect((await newer.call('GET', '/v1/tasks/jobs:a')).body.detail).toContain('form 2')
  })
})

const system = aMemorySystem() as MemorySystem

/** The status for a path as API Gateway hands it over, when the functions know this base path. */
async function statusOf(rawPath: string, basePath?: string): Promise<number> {
  const app = createApi(system as never, ALL_OPERATIONS, { basePath })
  const event = { rawPath, rawQueryString: '', requestContext: { http: { method: 'GET' } } }
  return (await app.request('/', { method: 'POST' }, { event })).status
}

it.each([
  ['/healthz', undefined, 200],
  ['/tasks/healthz', undefined, 404],
  ['/tasks/healthz', '/tasks', 200],
  ['/tasks/v1/types', '/tasks', 200],
  ['/healthz', '/tasks', 200],
  ['/tasks', '/tasks', 404],
  ['/tasksandmore/healthz', '/tasks', 404],
  ['/a/tasks/healthz', '/tasks', 404],
])('a custom domain leaves its base path in front: %s with %s answers %i', async (path, basePath, status) => {
  expect(await statusOf(path, basePath)).toBe(status)
})
