import { describe, expect, it } from 'vitest'
import { anApiPerTest, claimed, expectRefused, published } from '../../../support/http/an-api.ts'
import { NOW } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

/** Configures the type `jobs`. The answer waits until every claiming process knows of the change. */
async function configured(limits: object): Promise<void> {
  const answer = api.call('PUT', '/v1/types/jobs', { kind: 'http', limits })
  await api.system.clock.advance(2_000)
  await answer
}

/** Claims one task. A start under a limit takes some time. */
async function claimOne(): Promise<void> {
  const claiming = claimed(api)
  await api.system.clock.advance(100)
  await claiming
}

const get = async (path: string) => (await api.call('GET', path)).body

describe('counts', () => {
  it('stop at the number that is asked for, and running tasks use up nothing of it', async () => {
    for (let nth = 0; nth < 5; nth++) await published(api)
    await claimed(api)
    await claimed(api)

    expect(await get('/v1/types/jobs/counts?atMost=2')).toMatchObject({ ready: 2, running: 2, delayed: 0 })
    expect(await get('/v1/types/jobs/counts?atMost=3')).toMatchObject({ ready: 3, running: 2 })
    expect(await get('/v1/types/jobs/counts')).toMatchObject({ ready: 3, running: 2 })
  })

  it('leave no running task among the ready ones, however many run', async () => {
    for (let nth = 0; nth < 3; nth++) await published(api)
    for (let nth = 0; nth < 3; nth++) await claimed(api)

    expect(await get('/v1/types/jobs/counts?atMost=2')).toMatchObject({ ready: 0, running: 2 })
  })

  it('of all types come page by page', async () => {
    await published(api)

    const first = await get('/v1/counts?limit=1')
    const rest = await get(`/v1/counts?limit=1&cursor=${first.nextCursor}`)

    expect(first.items).toMatchObject([{ type: 'jobs', counts: { ready: 1 } }])
    expect(rest).toMatchObject({ items: [{ type: 'resize', counts: { ready: 0 } }] })
    expect(rest.nextCursor).toBeUndefined()
  })

  it.each([
    ['/v1/counts?atMost=0', 'atMost', 'from 1 to'],
    ['/v1/types/jobs/counts?atMost=x', 'atMost', 'number'],
    ['/v1/counts?cursor=!', 'cursor', 'nextCursor'],
    ['/v1/counts?type=jobs', 'type', 'atMost'],
  ])('refuse %s', async (path, field, legal) => {
    const { body } = await expectRefused(api.call('GET', path), field)

    expect(body.errors).toMatchObject([{ message: expect.stringContaining(legal) }])
  })
})

describe('activity', () => {
  it('shows all types page by page, or those that are asked for', async () => {
    expect((await get('/v1/activity?limit=1')).items).toMatchObject([{ type: 'jobs', minutes: [] }])
    expect((await get('/v1/activity')).items).toHaveLength(2)
    expect((await get('/v1/activity?type=resize&minutes=5')).items).toMatchObject([{ type: 'resize' }])
  })

  it('says which time it shows', async () => {
    expect(await get('/v1/activity?minutes=2')).toMatchObject({
      from: new Date(NOW - (NOW % 60_000) - 60_000).toISOString(),
      to: new Date(NOW).toISOString(),
    })
  })

  it.each([
    ['/v1/activity?minutes=0', 400],
    ['/v1/activity?minutes=121', 400],
    ['/v1/activity?cursor=!', 400],
    ['/v1/activity?type=none', 404],
  ])('refuses %s with %d', async (path, status) => {
    expect((await api.call('GET', path)).status).toBe(status)
  })
})

describe('the usage of limits', () => {
  it('shows who holds permits, and when the next slot begins', async () => {
    await configured({ rate: { limit: 1, perMs: 60_000 }, concurrency: { max: 2 } })
    const now = api.system.clock.now()
    const id = await published(api)
    expect(await get('/v1/types/jobs/limits')).toEqual({
      type: 'jobs',
      rate: { limit: 1, perMs: 60_000, nextSlotAt: new Date(now).toISOString() },
      concurrency: { max: 2, held: 0, holders: [] },
    })

    await claimOne()

    const used = await get('/v1/types/jobs/limits')
    expect(used.concurrency).toMatchObject({ held: 1, holders: [{ taskId: id }] })
    expect(Date.parse(used.rate.nextSlotAt)).toBeGreaterThan(api.system.clock.now())
  })

  it('of a limit with a key is shown for one value', async () => {
    await configured({ concurrency: { max: 1, key: 'shop' } })
    const id = await published(api, { input: { shop: 'a' } })
    await claimOne()

    expect(await get('/v1/types/jobs/limits')).toEqual({ type: 'jobs', concurrency: { max: 1, key: 'shop' } })
    expect((await get('/v1/types/jobs/limits?value=a')).concurrency).toMatchObject({
      holders: [{ taskId: id }],
    })
    expect((await get('/v1/types/jobs/limits?value=b')).concurrency).toMatchObject({ held: 0 })
  })

  it('shows what waits, by the value of the key, among as many tasks as the request says', async () => {
    await configured({ concurrency: { max: 1, key: 'shop' } })
    for (const shop of ['a', 'a', 'a', 'b', 'b', 'c']) await published(api, { input: { shop } })
    for (const _shop of ['a', 'b', 'c']) await claimOne()

    const waiting = async (examined: number) =>
      (await get(`/v1/types/jobs/limits?waiting=${examined}`)).concurrency.waiting
    expect(await waiting(100)).toEqual([
      { value: 'a', tasks: 2 },
      { value: 'b', tasks: 1 },
    ])
    expect(await waiting(1)).toEqual([{ value: 'a', tasks: 1 }])
    await expectRefused(api.call('GET', '/v1/types/jobs/limits?waiting=101'), 'waiting')
  })

  it('is shown for each limit by the value of its own key, where their keys differ', async () => {
    const rate = { limit: 1, perMs: 60_000, key: 'host' }
    await configured({ rate, concurrency: { max: 2, key: 'shop' } })
    const now = api.system.clock.now()
    const id = await published(api, { input: { shop: 'a', host: 'b' } })
    await claimOne()

    const { rate: ofB, concurrency: ofA } = await get('/v1/types/jobs/limits?rateValue=b&concurrencyValue=a')
    expect(ofA).toMatchObject({ key: 'shop', value: 'a', held: 1, holders: [{ taskId: id }] })
    expect(ofB).toMatchObject({ key: 'host', value: 'b' })
    expect(Date.parse(ofB.nextSlotAt)).toBeGreaterThanOrEqual(now + 60_000)
    expect(await get('/v1/types/jobs/limits?value=b&concurrencyValue=a')).toMatchObject({
      rate: { value: 'b' },
      concurrency: { value: 'a', held: 1 },
    })
    expect(await get('/v1/types/jobs/limits?rateValue=b')).toMatchObject({
      rate: { nextSlotAt: ofB.nextSlotAt },
      concurrency: { max: 2, key: 'shop' },
    })
    expect((await get('/v1/types/jobs/limits?rateValue=b')).concurrency).not.toHaveProperty('held')
    expect((await get('/v1/types/jobs/limits?value=b')).concurrency).toMatchObject({ value: 'b', held: 0 })
  })

  it('of a type without limits is empty, and of an unknown type is unknown', async () => {
    expect(await get('/v1/types/jobs/limits')).toEqual({ type: 'jobs' })
    expect((await api.call('GET', '/v1/types/none/limits')).status).toBe(404)
  })
})
