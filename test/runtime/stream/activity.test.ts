import { describe, expect, it } from 'vitest'
import { latenessAt, latenessClass } from '../../../shared/core/events/activity.ts'
import {
  createActivityMeter,
  HELD_WITHOUT_END_MS,
  WRITE_INTERVAL_MS,
  WRITES_IN_A_ROW_MAX,
} from '../../../shared/runtime/stream/statistics.ts'
import { anApi, claimed, published, type TestApi } from '../../support/http/an-api.ts'
import { MINUTE } from '../../support/tasks/a-task.ts'

/** A system, and the meter of one planner in it. `count` lets it see the present change of a task. */
async function aMeteredApi() {
  const api = await anApi()
  const { activity } = api.system
  const writes: number[] = []
  const counting = {
    ...api.system,
    activity: {
      ...activity,
      add: async (one: Parameters<typeof activity.add>[0]) => {
        writes.push(Object.values(one.counts).reduce((sum, number) => sum + number, 0))
        await activity.add(one)
      },
    },
  }
  const meter = createActivityMeter(counting)
  const count = async (id: string, failed: string[] = []) => {
    const task = await api.system.tasks.head(id)
    if (task) await meter.count([{ task, position: '1' }], { positions: ['1'], failed })
  }
  const shown = async () => (await api.call('GET', '/v1/activity?type=jobs')).body.items[0]
  return { api, meter, writes, count, shown }
}

/** Publishes a task that succeeds, and returns its id. */
async function ended(api: TestApi): Promise<string> {
  const id = await published(api, { key: 'k' })
  const { path, fence } = await claimed(api)
  await api.call('POST', `${path}/succeed`, { fence })
  return id
}

describe('activity', () => {
  it('shows what the tasks of a type did in each minute, and how late they started', async () => {
    const { api, count, shown } = await aMeteredApi()
    const id = await published(api, { key: 'k' })
    await count(id)
    await api.system.clock.advance(MINUTE)
    const { path, fence } = await claimed(api)
    await count(id)
    await api.call('POST', `${path}/succeed`, { fence })
    await count(id)

    expect(await shown()).toMatchObject({
      type: 'jobs',
      minutes: [
        { published: 1, started: 0, succeeded: 0, failed: 0, cancelled: 0 },
        { published: 0, started: 1, succeeded: 1, lateness: { p50Ms: 65_536, p95Ms: 65_536 } },
      ],
      lateness: { p50Ms: 65_536 },
    })
  })

  it('counts a retry as late only since its own due time', async () => {
    const { api, count, shown } = await aMeteredApi()
    const id = await published(api, { key: 'k', retry: { maxRetries: 3 } })
    await api.system.clock.advance(MINUTE)
    const first = await claimed(api)
    await api.call('POST', `${first.path}/fail`, {
      fence: first.fence,
      error: { name: 'E', message: 'x' },
      retryInMs: 0,
    })
    await claimed(api)
    await count(id)
    await api.system.clock.advance(HELD_WITHOUT_END_MS)
    await count(id)

    expect((await shown()).lateness).toEqual({ p50Ms: 1, p95Ms: 1 })
  })

  it('is counted when the stream delivers a change for the last time', async () => {
    const { api, count, shown } = await aMeteredApi()
    const id = await ended(api)

    await count(id, ['1'])
    expect((await shown()).minutes).toEqual([])

    await count(id)
    expect((await shown()).minutes).toMatchObject([{ succeeded: 1 }])
  })

  it('of a lone task is written once, at its end', async () => {
    const { api, writes, count } = await aMeteredApi()
    const id = await published(api, { key: 'k' })
    await count(id)
    const { path, fence } = await claimed(api)
    await count(id)
    expect(writes).toEqual([])

    await api.call('POST', `${path}/succeed`, { fence })
    await count(id)

    expect(writes).toEqual([3])
  })

  it('without an end is written with a later change', async () => {
    const { api, writes, count, shown } = await aMeteredApi()
    const id = await published(api, { key: 'k' })
    await count(id)

    await api.system.clock.advance(HELD_WITHOUT_END_MS)
    await count(id)

    expect(writes).toEqual([2])
    expect((await shown()).minutes).toMatchObject([{ published: 2 }])
  })

  it('of a busy type is written once a second, and nothing of it is lost', async () => {
    const { api, writes, count, shown } = await aMeteredApi()
    const id = await ended(api)

    for (let nth = 0; nth < WRITES_IN_A_ROW_MAX + 5; nth++) await count(id)
    expect(writes).toEqual(Array(WRITES_IN_A_ROW_MAX).fill(1))

    await api.system.clock.advance(WRITE_INTERVAL_MS)
    await count(id)
    expect(writes.at(-1)).toBe(6)
    expect((await shown()).minutes).toMatchObject([{ succeeded: WRITES_IN_A_ROW_MAX + 6 }])
  })

  it('that cannot be written is logged, and holds nothing up', async () => {
    const api = await anApi({
      activity: {
        add: async () => {
          throw new Error('throttled')
        },
        since: async () => [],
      },
    })
    const id = await ended(api)
    const task = await api.system.tasks.head(id)

    await createActivityMeter(api.system).count(task ? [{ task, position: '1' }] : [], {
      positions: ['1'],
      failed: [],
    })

    expect(api.complaints).toMatchObject([{ message: 'the activity of a type was not counted' }])
  })
})

describe('lateness', () => {
  it.each([
    [0, 0],
    [1, 0],
    [2, 1],
    [3, 2],
    [1_024, 10],
    [1_025, 11],
    [1e15, 31],
  ])('of %d ms is in class %d', (ms, nth) => {
    expect(latenessClass(ms)).toBe(nth)
  })

  it('is the bound of the class that holds the share of the runs', () => {
    const lateness = { 0: 90, 5: 5, 10: 5 }

    expect([0.5, 0.95, 0.96, 1].map(share => latenessAt(lateness, share))).toEqual([1, 32, 1_024, 1_024])
    expect(latenessAt({}, 0.5)).toBeUndefined()
  })
})
