import { afterAll, beforeAll, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import type { DynamoStores } from '../../../support/dynamo/dynamo-stores.ts'
import { claimed, pagesOf, published, type Shown, type TestApi } from '../../../support/http/an-api.ts'
import { type ApiOnDynamo, anApiOnDynamo } from '../../../support/http/an-api-on-dynamo.ts'

/** Tests what memory stores cannot show: the index's order among equal keys, bounds that DynamoDB refuses, items as it returns them. */

let world: ApiOnDynamo
let stores: DynamoStores
let api: TestApi
beforeAll(async () => {
  world = await anApiOnDynamo(3)
  stores = world.stores
  api = world.api
})
afterAll(() => world.close())

const listed = async (query: string): Promise<string[]> =>
  (await pagesOf(api, `/v1/tasks?${query}`)).flatMap(({ items }) => items.map(({ key }: Shown) => key))

it('lists page through tasks of one due time, each once, both ways', async () => {
  const keys = [...Array(24).keys()].map(n => `k${n}`)
  await api.call('PUT', '/v1/types/equal', { kind: 'handler' })
  const { body } = await api.call('POST', '/v1/tasks/batch', {
    tasks: keys.map(key => ({ type: 'equal', key, delayMs: 3_600_000, userId: 'ü' })),
  })
  expect(body.results.every(({ status }: Shown) => status === 201)).toBe(true)

  for (const query of [
    'type=equal&limit=7',
    'type=equal&limit=7&order=-due',
    'type=equal&status=delayed&limit=9',
    'type=equal&order=-created&limit=13',
    `userId=${encodeURIComponent('ü')}&limit=7`,
    `userId=${encodeURIComponent('ü')}&order=due&limit=7`,
  ]) {
    const found = await listed(query)
    expect(found, query).toHaveLength(24)
    expect(new Set(found)).toEqual(new Set(keys))
  }
})

it('a cursor stays valid when its task has become ready and left the list', async () => {
  await api.call('PUT', '/v1/types/moving', { kind: 'handler' })
  for (const delayMs of [10, 20, 30]) {
    await api.call('POST', '/v1/tasks', { type: 'moving', key: `${delayMs}`, delayMs })
  }
  const first = await api.call('GET', '/v1/tasks?type=moving&status=delayed&limit=1')
  await stores.clock.advance(25)
  const next = await api.call('GET', `/v1/tasks?type=moving&status=delayed&cursor=${first.body.nextCursor}`)

  expect(next.body.items.map(({ key }: Shown) => key)).toEqual(['30'])
})

it('a task with a large input and result goes from its publish to its end', async () => {
  const input = { text: 'é😀'.repeat(20_000), '': [null, -0.5, Number.MAX_SAFE_INTEGER] }
  const id = await published(api, {
    key: 'a/b#c 😀',
    input,
    retry: { maxRetries: 2, backoff: 'fixed', delayMs: 0 },
  })
  const first = await claimed(api)
  const error = { name: 'E', message: 'm'.repeat(500), stack: 's' }
  await api.call('POST', `${first.path}/fail`, { fence: first.fence, error, retryInMs: 0 })
  const second = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w2', requestId: 'r' })
  const [claim] = second.body.claims
  const again = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w2', requestId: 'r' })
  expect(claim.task).toMatchObject({ id, input, status: 'running' })
  expect(again.body).toEqual(second.body)
  expect((await api.call('GET', '/v1/types/jobs/counts')).body).toMatchObject({ ready: 0, running: 1 })

  const path = `${pathOf('get', id)}/runs/${claim.run.id}`
  await api.call('POST', `${path}/heartbeat`, { fence: 2, progress: [1] })
  const { status } = await api.call('POST', `${path}/succeed`, { fence: 2, result: input })
  expect(status).toBe(200)
  expect((await api.call('GET', pathOf('get', id))).body).toMatchObject({
    status: 'succeeded',
    input,
    result: input,
    runs: [
      { state: 'failed', error },
      { state: 'succeeded', progress: [1] },
    ],
  })
})

const LONE_SURROGATE = '\ud800'

it('a lone surrogate is refused in a key and kept in an input, and harms no other member', async () => {
  await api.call('PUT', '/v1/types/texts', { kind: 'http' })
  const text = `a${LONE_SURROGATE}b`
  const short = { text, [`member ${text}`]: 1 }
  const long = { text: text.repeat(2_000) }
  const { status, body } = await api.call('POST', '/v1/tasks/batch', {
    tasks: [
      { type: 'texts', key: 'before', input: 'plain' },
      { type: 'texts', key: text, input: 'plain' },
      { type: 'texts', key: 'short', input: short },
      { type: 'texts', key: 'long', input: long },
      { type: 'texts', key: 'after', input: 'plain' },
    ],
  })
  const alone = await api.call('POST', '/v1/tasks', { type: 'texts', key: text })
  const inputs = await Promise.all(
    ['before', 'short', 'long', 'after'].map(
      async key => (await api.call('GET', pathOf('get', `texts:${key}`))).body.input,
    ),
  )
  const claims = (await api.call('POST', '/v1/claims', { type: 'texts', workerId: 'w1', limit: 10 })).body
    .claims

  expect(status).toBe(200)
  expect(body.results.map((result: Shown) => result.status)).toEqual([201, 400, 201, 201, 201])
  expect(body.results[1].problem.errors[0].path).toBe('tasks.1.key')
  expect([alone.status, alone.body.errors[0].path]).toEqual([400, 'key'])
  expect(inputs).toEqual(['plain', short, long, 'plain'])
  expect(claims.map(({ task }: Shown) => task.input)).toEqual(['plain', short, long, 'plain'])
})

it('two concurrent publishes of one key create one task', async () => {
  const answers = await Promise.all(
    [...Array(10).keys()].map(n =>
      api.call('POST', '/v1/tasks', { type: 'jobs', key: 'race', input: 'x'.repeat(300 + n) }),
    ),
  )
  const created = answers.find(({ status }) => status === 201)

  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(9).fill(200), 201])
  expect((await api.call('GET', '/v1/tasks/jobs:race')).body.input).toBe(created?.body.task.input)
})

it('of twenty operators who have read the same revision, exactly one changes the task, while it is claimed', async () => {
  const id = await published(api, { key: 'contested' })
  const path = pathOf('get', id)
  const changing = [...Array(20).keys()].map(priority => api.call('PATCH', path, { priority, ifRevision: 0 }))
  const [answers] = await Promise.all([Promise.all(changing), claimed(api)])

  const statuses = answers.map(({ status }) => status)
  expect(statuses.toSorted()).toEqual([200, ...Array(19).fill(409)])
  const { body: task } = await api.call('GET', path)
  expect([task.revision, task.priority]).toEqual([1, statuses.indexOf(200)])
  expect(answers.every(({ status, body }) => status === 200 || body.revision === 1)).toBe(true)
})

it('filters bound the reads of an index, and pages with equal times merge several types', async () => {
  await api.call('PUT', '/v1/types/left', { kind: 'handler' })
  await api.call('PUT', '/v1/types/right', { kind: 'handler' })
  const dueAt = new Date(stores.clock.now() + 7_200_000).toISOString()
  const keys = [...Array(30).keys()].map(n => `m${n}`)
  const tasks = keys.map((key, n) => ({
    type: n % 2 ? 'left' : 'right',
    key,
    dueAt,
    tags: { n: `${n % 3}` },
  }))
  await api.call('POST', '/v1/tasks/batch', { tasks })

  const types = 'type=left&type=right&status=delayed&limit=7'
  const bounds = `since=${dueAt}&until=${new Date(Date.parse(dueAt) + 1).toISOString()}`

  expect((await listed(`${types}&${bounds}`)).toSorted()).toEqual(keys.toSorted())
  expect((await listed(`${types}&${bounds}&order=-due`)).toSorted()).toEqual(keys.toSorted())
  expect(await listed(`${types}&until=${dueAt}`)).toEqual([])
  expect(await listed(`${types}&tag=n:0`)).toHaveLength(10)
})
