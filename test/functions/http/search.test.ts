import { expect, it } from 'vitest'
import { viewPartition } from '../../../shared/core/place/place.ts'
import type { IndexQuery } from '../../../shared/ports/stores.ts'
import { anApiPerTest, expectRefused, pagesOf, published, reported } from '../../support/http/an-api.ts'
import { aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'

const api = anApiPerTest()

/** All pages of a search: what was found, and how. */
async function found(q: string): Promise<Array<[string, string]>> {
  const pages = await pagesOf(api, `/v1/search?limit=2&q=${encodeURIComponent(q)}`)
  return pages.flatMap(({ items, matches }) =>
    items.map(({ id }: { id: string }, nth: number) => [id, matches[nth]]),
  )
}

it('finds tasks by id, by key in every type, by user, by tag and by the text of the error', async () => {
  for (const type of ['jobs', 'resize']) await published(api, { type, key: 'ada' })
  await published(api, { type: 'resize', key: 'b', userId: 'ada' })
  await published(api, { type: 'resize', key: 'c', tags: { owner: 'ada' } })
  await reported(api, 'fail', { fatal: true, error: { name: 'E', message: 'no user ADA' } })

  expect(await found('ada')).toEqual([
    ['jobs:ada', 'key'],
    ['resize:ada', 'key'],
    ['resize:b', 'user'],
    ['resize:c', 'tag'],
  ])
  expect((await found('resize:b'))[0]).toEqual(['resize:b', 'id'])
  expect(await found('owner:ada')).toEqual([['resize:c', 'tag']])
  expect(await found('e: no user')).toEqual([['jobs:ada', 'error']])
  expect(await found('none')).toEqual([])
})

it('leaves out inputs, and refuses a missing text and a cursor of something else', async () => {
  await published(api, { key: 'a', input: { secret: 1 } })

  const { body } = await api.call('GET', '/v1/search?q=jobs:a')
  expect(body.items[0]).not.toHaveProperty('input')
  await expectRefused(api.call('GET', '/v1/search'), 'q')
  await expectRefused(api.call('GET', `/v1/search?q=${'x'.repeat(10_000)}`), 'q')
  for (const cursor of ['x', body.nextCursor, Buffer.from('null').toString('base64url')])
    await expectRefused(api.call('GET', `/v1/search?q=a&cursor=${cursor}`), 'cursor')
})

it('has full pages over several types, and finds each task once', async () => {
  for (const key of ['a', 'b', 'c']) await published(api, { key, tags: { team: 'red' }, userId: 'ada' })
  for (const key of ['d', 'e']) await published(api, { type: 'resize', key, tags: { team: 'red' } })
  await published(api, { key: 'gone', userId: 'ada', retentionMs: 0 })
  await api.call('POST', '/v1/tasks/jobs:gone/cancel')
  await api.system.clock.advance(SECOND)
  const sizes = async (q: string) =>
    (await pagesOf(api, `/v1/search?limit=2&q=${q}`)).map(({ items }) => items.length)

  expect(await sizes('red')).toEqual([2, 2, 1])
  expect((await found('red')).map(([id]) => id).sort()).toEqual([
    ...['jobs:a', 'jobs:b', 'jobs:c'],
    ...['resize:d', 'resize:e'],
  ])
  expect((await found('ada')).map(([id]) => id).sort()).toEqual(['jobs:a', 'jobs:b', 'jobs:c'])
  await published(api, { type: 'resize', key: 'a' })
  expect(await sizes('a')).toEqual([2, 0])
  expect(await found('jobs:gone')).toEqual([])
})

it('a page begins no further type after 1,000 tasks, and reads ten types at most', async () => {
  for (let nth = 1; nth <= 11; nth++) await api.call('PUT', `/v1/types/z${nth + 10}`, { kind: 'http' })
  for (let nth = 0; nth < 11; nth++) {
    const type = nth < 6 ? 'jobs' : 'resize'
    await api.call('POST', '/v1/tasks/batch', { tasks: Array(100).fill({ type }) })
  }

  const pages = await pagesOf(api, '/v1/search?limit=2&q=none')

  expect(pages.map(({ examined, reached }) => [examined, reached])).toEqual([
    [1_100, 'z11'],
    [0, 'z21'],
    [0, undefined],
  ])
})

const TASKS = 1_000_000

it('finds an id, a key and a user among 1,000,000 tasks in some reads, and reads 1,000 tasks for a page of errors', async () => {
  const { tasks } = api.system
  const reads = { heads: 0, entries: 0 }
  const failed = (nth: number) =>
    aTask({
      ...{ type: 'jobs', key: `k${nth}`, state: 'failed', finishedAt: NOW + nth, userId: `u${nth}` },
      error: { name: 'E', message: nth === 2_500 ? 'rare' : 'usual' },
    })
  const numberIn = (id: string) => Number(/^jobs:k(\d+)$/.exec(id)?.[1] ?? Number.NaN)
  const big: typeof tasks = {
    ...tasks,
    heads: async ids => {
      reads.heads += ids.length
      return ids.flatMap(id => (numberIn(id) < TASKS ? [failed(numberIn(id))] : []))
    },
    // The view has all tasks in one partition, the latest first. The index of users has one task for each user.
    page: async ({ partition, limit, after }: IndexQuery) => {
      const ofUser = Number(/u(\d+)$/.exec(partition)?.[1] ?? Number.NaN)
      const isAll = partition === viewPartition('jobs', 'failed', 0)
      const next = after ? numberIn(after.id) - 1 : TASKS - 1
      const start = isAll ? next : ofUser
      const count = isAll ? Math.min(limit, start + 1) : Number(ofUser < TASKS && !after)
      reads.entries += count
      const entries = Array.from({ length: count }, (_, nth) => ({
        id: `jobs:k${start - nth}`,
        sort: NOW + start - nth,
      }))
      return { entries, more: isAll && start >= limit }
    },
  }
  await api.renew({ tasks: big })
  const firstOf = async (q: string) => {
    Object.assign(reads, { heads: 0, entries: 0 })
    const { body } = await api.call('GET', `/v1/search?q=${q}`)
    return { ids: body.items.map(({ id }: { id: string }) => id), reached: body.reached, ...reads }
  }

  expect(await firstOf('jobs:k777777')).toMatchObject({ ids: ['jobs:k777777'], entries: 0 })
  expect(await firstOf('k777777')).toMatchObject({ ids: ['jobs:k777777'], entries: 0 })
  expect(reads.heads).toBeLessThan(10)
  expect(await firstOf('u777777')).toMatchObject({ ids: ['jobs:k777777'], entries: 1 })
  expect(reads.heads).toBeLessThan(10)
  expect(await firstOf('rare')).toMatchObject({ ids: [], reached: 'jobs' })
  expect([reads.heads, reads.entries].every(count => count < 1_300)).toBe(true)
})
