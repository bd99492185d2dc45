import { beforeEach, describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, pagesOf, published, reported, type Shown } from '../../../support/http/an-api.ts'
import { HOUR, MINUTE, NOW } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()
beforeEach(async () => {
  await api.call('PUT', '/v1/types/mail', { kind: 'http' })
})

const at = (ms: number) => encodeURIComponent(new Date(NOW + ms).toISOString())

const keysIn = ({ items }: Shown): string[] => items.map(({ key }: Shown) => key)

/** Reads all pages of a list: the keys of their tasks, and the number of tasks in each page. */
async function listed(query: string): Promise<{ keys: string[]; pages: number[] }> {
  const pages = await pagesOf(api, `/v1/tasks?${query}`)
  return { keys: pages.flatMap(keysIn), pages: pages.map(({ items }) => items.length) }
}
const keysOf = async (query: string) => (await listed(query)).keys

async function fail(key: string, name: string, message: string): Promise<void> {
  await published(api, { key, retry: { maxRetries: 0 } })
  await reported(api, 'fail', { error: { name, message } })
}

describe('a list of several types', () => {
  it.each([1, 3, 100])('merges them in the order of due times, %d a page', async limit => {
    const keys = [...Array(12).keys()].map(n => `k${String(n).padStart(2, '0')}`)
    for (const [n, key] of keys.entries())
      await published(api, { type: n % 2 ? 'jobs' : 'mail', key, delayMs: HOUR + n * MINUTE })

    const types = 'type=jobs&type=mail&status=delayed&status=ready'

    expect(await keysOf(`${types}&limit=${limit}`)).toEqual(keys)
    expect(await keysOf(`${types}&order=-due&limit=${limit}`)).toEqual(keys.toReversed())
    expect(await keysOf(`type=mail&type=jobs&order=-created&limit=${limit}`)).toHaveLength(keys.length)
  })

  it('shows the running tasks of both, and only tasks of the user', async () => {
    await published(api, { key: 'a', userId: 'u' })
    await published(api, { type: 'mail', key: 'b', userId: 'u' })
    await published(api, { type: 'resize', key: 'c', userId: 'u' })
    await api.call('POST', '/v1/claims', { types: ['jobs', 'mail'], workerId: 'w', limit: 2 })

    expect((await keysOf('type=jobs&type=mail&status=running')).toSorted()).toEqual(['a', 'b'])
    expect((await keysOf('type=jobs&type=mail&userId=u')).toSorted()).toEqual(['a', 'b'])
  })

  it('names the unknown one, and takes at most ten', async () => {
    const unknown = await api.call('GET', '/v1/tasks?type=jobs&type=mial')
    expect([unknown.status, unknown.body.errors[0].path]).toEqual([404, 'type'])
    expect(unknown.body.errors[0].message).toContain('mail')

    const names = [...Array(11).keys()].map(n => `type=t${n}`).join('&')
    const tooMany = await api.call('GET', `/v1/tasks?${names}`)
    expect([tooMany.status, tooMany.body.errors[0].path]).toEqual([400, 'type'])
  })
})

describe('a list without a type', () => {
  it('has the tasks of every type in one order, and continues when a type is added', async () => {
    for (const [n, type] of ['jobs', 'mail', 'resize', 'mail'].entries())
      await published(api, { type, key: `k${n}`, delayMs: HOUR + n * MINUTE })
    const first = await api.call('GET', '/v1/tasks?limit=2&order=-ended')
    await api.call('PUT', '/v1/types/added', { kind: 'http' })

    const next = await api.call('GET', `/v1/tasks?limit=2&order=-ended&cursor=${first.body.nextCursor}`)

    expect([first, next].map(({ body }) => keysIn(body))).toEqual([
      ['k3', 'k2'],
      ['k1', 'k0'],
    ])
    expect(await keysOf('status=delayed')).toEqual(['k0', 'k1', 'k2', 'k3'])
  })
})

describe('since and until', () => {
  it('bound the time by which the list is sorted', async () => {
    for (const [n, key] of ['a', 'b', 'c', 'd'].entries()) {
      await published(api, { key, delayMs: HOUR - n * MINUTE, userId: 'u' })
      await api.system.clock.advance(MINUTE)
    }

    const due = `since=${at(HOUR - 10)}&until=${at(HOUR + 10)}`
    expect((await keysOf(`type=jobs&status=delayed&${due}`)).toSorted()).toEqual(['a', 'b', 'c', 'd'])
    expect(await keysOf(`type=jobs&status=delayed&since=${at(HOUR + 1)}`)).toEqual([])
    for (const order of ['created', '-created']) {
      const created = `since=${at(MINUTE)}&until=${at(3 * MINUTE)}&order=${order}`
      const wanted = order === 'created' ? ['b', 'c'] : ['c', 'b']
      expect(await keysOf(`userId=u&${created}`)).toEqual(wanted)
      expect(await keysOf(`type=jobs&${created}`)).toEqual(wanted)
    }
  })

  it('bound the ends of ended tasks', async () => {
    for (const key of ['a', 'b', 'c']) {
      await fail(key, 'Error', 'broken')
      await api.system.clock.advance(MINUTE)
    }

    expect(await keysOf(`type=jobs&status=failed&since=${at(MINUTE)}`)).toEqual(['b', 'c'])
    expect(await keysOf(`type=jobs&status=failed&until=${at(MINUTE)}`)).toEqual(['a'])
  })

  it('that leave nothing between them, or are not times, are refused by name', async () => {
    const reversed = await api.call('GET', `/v1/tasks?type=jobs&since=${at(2)}&until=${at(2)}`)
    const noTime = await api.call('GET', '/v1/tasks?type=jobs&since=yesterday')

    expect([reversed.status, reversed.body.errors[0].path]).toEqual([400, 'until'])
    expect([noTime.status, noTime.body.errors[0].path]).toEqual([400, 'since'])
  })
})

describe('tags and errors', () => {
  it('narrow a list to tasks with every tag, also one with a colon in its name or value', async () => {
    await published(api, { key: 'a', tags: { team: 'red', 'x:y': 'z' } })
    await published(api, { key: 'b', tags: { team: 'red', x: 'y:z' } })
    await published(api, { key: 'c', tags: { team: 'blue' } })

    expect((await keysOf('type=jobs&tag=team:red')).toSorted()).toEqual(['a', 'b'])
    expect((await keysOf('type=jobs&tag=team:red&tag=x:y:z')).toSorted()).toEqual(['a', 'b'])
    expect(await keysOf('type=jobs&tag=team:red&tag=team:blue')).toEqual([])
    const refused = await api.call('GET', '/v1/tasks?type=jobs&tag=red')
    expect([refused.status, refused.body.errors[0]]).toMatchObject([400, { path: 'tag' }])
  })

  it('narrow a list to tasks whose error contains a text, in any case', async () => {
    await fail('a', 'TimeoutError', 'no answer of shop-1')
    await fail('b', 'Error', 'out of paper')
    await published(api, { key: 'c' })

    expect(await keysOf('type=jobs&error=timeout')).toEqual(['a'])
    expect(await keysOf('type=jobs&status=failed&error=Paper')).toEqual(['b'])
    expect(await keysOf('type=jobs&error=nothing')).toEqual([])
  })

  it('narrow the members of a canvas', async () => {
    const group = ['red', 'blue', 'red'].map(team => ({ type: 'jobs', tags: { team } }))
    const { body } = await api.call('POST', '/v1/canvases', { group })

    expect(await keysOf(`canvasId=${body.id}&tag=team:red&type=jobs&type=mail`)).toHaveLength(2)
    expect(await keysOf(`canvasId=${body.id}&until=${at(0)}`)).toEqual([])
  })

  it('a page examines a bounded number of tasks, and its cursor leads to the one that fits', async () => {
    const tasks = [...Array(1_200).keys()].map(n => ({ type: 'jobs', key: `k${n}`, delayMs: HOUR + n }))
    for (let from = 0; from < tasks.length; from += 100)
      await api.call('POST', '/v1/tasks/batch', { tasks: tasks.slice(from, from + 100) })
    await api.call('PATCH', pathOf('get', 'jobs:k1199'), { tags: { team: 'red' } })

    const found = await listed('type=jobs&status=delayed&tag=team:red')

    expect(found.keys).toEqual(['k1199'])
    expect(found.pages).toEqual([0, 1])
  })

  it('a cursor belongs to its filters', async () => {
    for (const key of ['a', 'b']) await published(api, { key, tags: { team: 'red' } })
    const { body } = await api.call('GET', '/v1/tasks?type=jobs&tag=team:red&limit=1')

    const { status } = await api.call('GET', `/v1/tasks?type=jobs&tag=team:blue&cursor=${body.nextCursor}`)

    expect(status).toBe(400)
  })
})
