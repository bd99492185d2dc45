import { beforeEach, describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, claimed, pagesOf, published, type Shown } from '../../../support/http/an-api.ts'
import { HOUR, MINUTE, NOW } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

const keysIn = ({ items }: Shown): string[] => items.map(({ key }: Shown) => key)

/** Reads all pages of a list: the keys of its tasks, and the number of its pages. */
async function listed(query: string, limit = 100): Promise<{ keys: string[]; pages: number }> {
  const pages = await pagesOf(api, `/v1/tasks?${query}&limit=${limit}`)
  for (const { items } of pages) expect(items.length).toBeLessThanOrEqual(limit)
  return { keys: pages.flatMap(keysIn), pages: pages.length }
}

const numbered = (count: number) => [...Array(count).keys()].map(n => `k${String(n).padStart(4, '0')}`)

async function publishMany(tasks: readonly object[]): Promise<void> {
  for (let start = 0; start < tasks.length; start += 100)
    await api.call('POST', '/v1/tasks/batch', { tasks: tasks.slice(start, start + 100) })
}

describe('a list of a type', () => {
  it.each([1, 7, 40, 100])('shows each task once, in the order of due times, %d a page', async limit => {
    const keys = numbered(120)
    // Many tasks have one due time, so the order among them must hold from page to page.
    await publishMany(
      keys.map((key, n) => ({ type: 'jobs', key, delayMs: HOUR + Math.floor(n / 30) * MINUTE })),
    )

    const ascending = await listed('type=jobs&order=due', limit)
    const descending = await listed('type=jobs&order=-due', limit)

    expect(ascending.keys.toSorted()).toEqual(keys)
    expect(descending.keys.toSorted()).toEqual(keys)
    expect(new Set(ascending.keys.slice(0, 30))).toEqual(new Set(keys.slice(0, 30)))
    expect(new Set(descending.keys.slice(0, 30))).toEqual(new Set(keys.slice(90)))
    expect(ascending.pages).toBe(Math.ceil(120 / limit))
  })

  it('continues where it was, whatever is published or removed meanwhile', async () => {
    const keys = numbered(30)
    await publishMany(keys.map((key, n) => ({ type: 'jobs', key, delayMs: HOUR + n * MINUTE })))
    const first = await api.call('GET', '/v1/tasks?type=jobs&limit=10')
    await api.call('DELETE', pathOf('get', 'jobs:k0009'))
    await published(api, { key: 'early', delayMs: 1 })
    const next = await api.call('GET', `/v1/tasks?type=jobs&limit=10&cursor=${first.body.nextCursor}`)

    expect(next.body.items.map((task: Shown) => task.key)).toEqual(keys.slice(10, 20))
  })

  it('shows the requested statuses, with the words that GET uses', async () => {
    for (const key of ['ready', 'running', 'succeeded', 'failed', 'cancelled']) {
      await published(api, { key, priority: key === 'ready' ? -1 : 0, input: 'small' })
    }
    await published(api, { key: 'delayed', delayMs: 1 })
    const claims = (await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w', limit: 4 })).body
      .claims
    const runOf = (key: string) => {
      const { task, run } = claims.find((claim: Shown) => claim.task.key === key)
      return { path: `${pathOf('get', task.id)}/runs/${run.id}`, fence: run.fence }
    }
    await api.call('POST', `${runOf('succeeded').path}/succeed`, { fence: 1, result: 1 })
    await api.call('POST', `${runOf('failed').path}/fail`, {
      fence: 1,
      fatal: true,
      error: { name: 'E', message: '' },
    })
    await api.call('POST', '/v1/tasks/jobs:cancelled/cancel')

    const statuses = ['delayed', 'ready', 'running', 'succeeded', 'failed', 'cancelled']
    for (const status of statuses) expect((await listed(`type=jobs&status=${status}`)).keys).toEqual([status])
    expect((await listed('type=jobs&status=compensating')).keys).toEqual([])
    expect((await listed('type=jobs&status=failed&status=delayed')).keys.sort()).toEqual([
      'delayed',
      'failed',
    ])
    expect((await listed('type=jobs')).keys.sort()).toEqual(statuses.toSorted())
    expect((await api.call('GET', '/v1/types/jobs/counts')).body).toEqual({
      ...Object.fromEntries(statuses.map(status => [status, 1])),
      compensating: 0,
    })
    const { items } = (await api.call('GET', '/v1/tasks?type=jobs&status=succeeded')).body
    expect(items[0]).not.toHaveProperty('input')
    expect(items[0]).not.toHaveProperty('result')
    expect(items[0].runs[0]).not.toHaveProperty('result')
  })

  it('moves a task from delayed to ready when it is due, and leaves out expired tasks', async () => {
    await published(api, { key: 'k', delayMs: 500 })
    expect((await listed('type=jobs&status=ready')).keys).toEqual([])

    await api.system.clock.advance(500)
    expect((await listed('type=jobs&status=ready')).keys).toEqual(['k'])
    expect((await listed('type=jobs&status=delayed')).keys).toEqual([])

    await api.call('POST', '/v1/tasks/jobs:k/cancel')
    await api.system.clock.advance(7 * 24 * HOUR)
    expect((await listed('type=jobs')).keys).toEqual([])
  })

  it('sorts by creation in memory, up to a bound that it names', async () => {
    for (const key of ['a', 'b', 'c']) {
      await published(api, { key, delayMs: key === 'a' ? HOUR : 0 })
      await api.system.clock.advance(10)
    }
    expect((await listed('type=jobs&order=created', 2)).keys).toEqual(['a', 'b', 'c'])
    expect((await listed('type=jobs&order=-created', 1)).keys).toEqual(['c', 'b', 'a'])

    await publishMany(numbered(1_000).map(key => ({ type: 'jobs', key })))
    const refused = await api.call('GET', '/v1/tasks?type=jobs&order=created')
    expect(refused.status).toBe(400)
    expect(refused.body.detail).toContain('1000')
    expect((await listed('type=jobs&order=created&status=delayed')).keys).toEqual(['a'])
  })

  it('of running tasks finds these behind a long backlog', async () => {
    await publishMany(numbered(1_500).map(key => ({ type: 'jobs', key })))
    await api.system.clock.advance(1)
    await published(api, { key: 'last', priority: 9 })
    await claimed(api)

    expect((await listed('type=jobs&status=running&order=-due')).keys).toEqual(['last'])
  })

  it('reads a bounded number of entries per call, and returns a cursor to continue', async () => {
    await publishMany(numbered(1_200).map(key => ({ type: 'jobs', key, userId: 'u' })))
    await api.system.clock.advance(1)
    await published(api, { key: 'last', userId: 'u', delayMs: 1 })
    const query = 'userId=u&status=delayed&order=created'
    const first = await api.call('GET', `/v1/tasks?${query}`)

    expect(first.body).toMatchObject({ items: [], nextCursor: expect.any(String) })
    expect((await listed(query)).keys).toEqual(['last'])
  })
})

describe('a list of a user', () => {
  beforeEach(async () => {
    for (const [n, type] of ['jobs', 'resize', 'jobs'].entries()) {
      await api.call('POST', '/v1/tasks', { type, key: `${n}`, userId: 'ü/1', delayMs: HOUR - n * MINUTE })
      await api.system.clock.advance(10)
    }
    await published(api, { key: 'other', userId: 'u2' })
  })
  const user = `userId=${encodeURIComponent('ü/1')}`

  it.each([
    ['', ['2', '1', '0']],
    ['&order=created', ['0', '1', '2']],
    ['&order=-created', ['2', '1', '0']],
    ['&order=due', ['2', '1', '0']],
    ['&order=-due', ['0', '1', '2']],
    ['&type=jobs&order=created', ['0', '2']],
    ['&status=delayed&status=failed&order=created', ['0', '1', '2']],
    ['&status=failed', []],
  ])('with %j shows %j', async (query, keys) => {
    expect((await listed(user + query)).keys).toEqual(keys)
    expect((await listed(user + query, 1)).keys).toEqual(keys)
  })
})

describe('a cursor', () => {
  it('of another query, of another version, or that was made up is a 400', async () => {
    await publishMany(numbered(5).map(key => ({ type: 'jobs', key })))
    const { nextCursor } = (await api.call('GET', '/v1/tasks?type=jobs&limit=2')).body
    const fields = JSON.parse(Buffer.from(nextCursor, 'base64url').toString())
    const forged = fields.map((field: unknown, n: number) =>
      encode(fields.with(n, typeof field === 'number' ? field + 1 : 'jobs:x')),
    )
    const bad = [
      ...forged,
      encode([]),
      encode(null),
      encode('x'),
      'x',
      '!!',
      nextCursor.slice(1),
      `${nextCursor}x`,
    ]

    for (const cursor of bad) {
      const { status } = await api.call('GET', `/v1/tasks?type=jobs&limit=2&cursor=${cursor}`)
      expect(status, cursor).toBe(400)
    }
    expect((await api.call('GET', `/v1/tasks?type=jobs&order=-due&cursor=${nextCursor}`)).status).toBe(400)
    expect((await api.call('GET', `/v1/tasks?type=jobs&limit=3&cursor=${nextCursor}`)).status).toBe(200)
  })

  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
})

describe('task types', () => {
  it('are created, replaced and read', async () => {
    const created = await api.call('PUT', '/v1/types/video', { kind: 'http', ordering: 'aged', shards: 2 })
    await api.system.clock.advance(5)
    const replaced = await api.call('PUT', '/v1/types/video', { kind: 'http' })

    expect(created.status).toBe(201)
    expect(created.body).toMatchObject({
      type: 'video',
      ordering: 'aged',
      shards: 2,
      paused: false,
      defaults: {},
    })
    expect(replaced.status).toBe(200)
    expect(replaced.body).toMatchObject({
      ordering: 'priority',
      shards: 4,
      createdAt: created.body.createdAt,
    })
    expect((await api.call('GET', '/v1/types/video')).body).toEqual(replaced.body)
  })

  it('stay paused and keep their handler when they are replaced, and their shards may only grow', async () => {
    const stored = await api.system.types.get('resize')
    if (!stored) throw new Error('no type')
    await api.system.types.put({ ...stored, paused: true, handlerSince: NOW, version: 2 }, 1)
    await api.call('PUT', '/v1/types/resize', { kind: 'handler', shards: 8 })
    const fewer = await api.call('PUT', '/v1/types/resize', { kind: 'handler', shards: 7 })

    expect(fewer.status).toBe(409)
    expect(fewer.body.errors[0].path).toBe('shards')
    expect((await api.call('PUT', '/v1/types/resize', { kind: 'handler' })).body).toMatchObject({
      paused: true,
      shards: 8,
      handlerSince: '2026-01-01T12:00:00.000Z',
    })
  })

  it('are all put when three requests arrive at once; the first creates the type', async () => {
    const answers = await Promise.all(
      [1, 2, 3].map(priority => api.call('PUT', '/v1/types/video', { kind: 'http', defaults: { priority } })),
    )

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201])
  })

  it('are listed by name, page by page', async () => {
    for (const name of numbered(25)) await api.call('PUT', `/v1/types/${name}`, { kind: 'http' })
    const first = await api.call('GET', '/v1/types')
    const second = await api.call('GET', `/v1/types?cursor=${first.body.nextCursor}`)

    expect(first.body.items).toHaveLength(20)
    expect([...first.body.items, ...second.body.items].map((type: Shown) => type.type)).toEqual([
      'jobs',
      ...numbered(25),
      'resize',
    ])
    expect(second.body).not.toHaveProperty('nextCursor')
  })

  it('whose shards have grown show old and new tasks', async () => {
    await publishMany(numbered(40).map(key => ({ type: 'jobs', key })))
    await api.call('PUT', '/v1/types/jobs', { kind: 'http', shards: 16 })
    await publishMany(
      numbered(80)
        .slice(40)
        .map(key => ({ type: 'jobs', key })),
    )

    expect((await listed('type=jobs', 9)).keys.sort()).toEqual(numbered(80))
    expect((await api.call('GET', '/v1/types/jobs/counts')).body.ready).toBe(80)
  })
})

describe('ended tasks', () => {
  /** Each task is due a minute after the one before it. The tasks end in the opposite order. */
  const ended = async (count: number) => {
    const keys = numbered(count)
    await publishMany(keys.map((key, n) => ({ type: 'jobs', key, delayMs: n * MINUTE, userId: 'ann' })))
    for (const key of keys.toReversed()) {
      await api.system.clock.advance(10)
      await api.call('POST', `${pathOf('get', `jobs:${key}`)}/cancel`)
    }
    return keys
  }

  it.each(['status=cancelled&', ''])(
    'are listed by the time they were due, not by their end: %s',
    async status => {
      const keys = await ended(7)

      expect((await listed(`type=jobs&${status}order=due`, 3)).keys).toEqual(keys)
      expect((await listed(`type=jobs&${status}order=-due`, 3)).keys).toEqual(keys.toReversed())
      expect((await listed(`userId=ann&${status}order=due`, 3)).keys).toEqual(keys)
    },
  )

  it.each(['type=jobs', 'userId=ann'])(
    'are listed by their end when the query asks for it: %s',
    async owner => {
      const keys = await ended(7)

      expect((await listed(`${owner}&status=cancelled&order=ended`, 3)).keys).toEqual(keys.toReversed())
      expect((await listed(`${owner}&status=cancelled&order=-ended`, 3)).keys).toEqual(keys)
    },
  )

  it('that are too many to sort are refused, but any number can be listed by their end', async () => {
    const keys = await ended(1_001)

    const { status, body } = await api.call('GET', '/v1/tasks?type=jobs&status=cancelled&order=due')

    expect([status, body.errors[0].path]).toEqual([400, 'order'])
    expect(body.detail).toBe(
      'order due sorts at most 1000 tasks, and there are more: tasks that are cancelled are listed by ended or -ended; due and -due list any number of open ones (delayed, ready, running, compensating)',
    )
    expect((await listed('type=jobs&status=cancelled&order=-ended')).keys).toEqual(keys)
    expect((await listed('type=jobs&status=cancelled')).keys).toEqual(keys.toReversed())
    expect((await listed('type=jobs&status=delayed&order=due')).keys).toEqual([])
  })
})
