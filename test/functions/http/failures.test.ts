import { describe, expect, it } from 'vitest'
import { countFailures } from '../../../shared/runtime/stream/statistics.ts'
import { anApiPerTest, expectRefused, published, reported } from '../../support/http/an-api.ts'
import { HOUR, MINUTE, NOW } from '../../support/tasks/a-task.ts'

const api = anApiPerTest()

/** Lets the planner count the present change of a task. */
async function count(id: string, failed: string[] = []): Promise<void> {
  const task = await api.system.tasks.head(id)
  if (task) await countFailures(api.system, [{ task, position: '1' }], { positions: ['1'], failed })
}

async function fail(id: string, message: string): Promise<void> {
  await reported(api, 'fail', { error: { name: 'Error', message }, retryInMs: 0 })
  await count(id)
}

const failures = async (query = '') => (await api.call('GET', `/v1/failures${query}`)).body
const at = (ms: number) => new Date(NOW + ms).toISOString()

describe('failures', () => {
  it('are grouped by type and masked error, with the runs of tasks that succeeded later', async () => {
    const id = await published(api, { key: 'flaky' })
    await fail(id, 'no answer of shop-1 in 30 s')
    await api.system.clock.advance(MINUTE)
    await fail(id, 'no answer of shop-22 in 31 s')
    await reported(api, 'succeed')
    await count(id)
    const other = await published(api, { key: 'other' })
    await fail(other, 'out of paper')

    expect(await failures()).toEqual({
      items: [
        {
          type: 'jobs',
          error: 'Error: no answer of # in # s',
          count: 2,
          firstAt: at(0),
          lastAt: at(MINUTE),
          hours: [{ at: at(0), count: 2 }],
          exampleId: 'jobs:flaky',
        },
        {
          type: 'jobs',
          error: 'Error: out of paper',
          count: 1,
          firstAt: at(MINUTE),
          lastAt: at(MINUTE),
          hours: [{ at: at(0), count: 1 }],
          exampleId: 'jobs:other',
        },
      ],
    })
    expect((await failures('?type=resize')).items).toEqual([])
    expect((await failures('?type=jobs&type=resize')).items).toHaveLength(2)
  })

  it('of the last 24 hours are shown, or those since the beginning of an hour, over several pages', async () => {
    const id = await published(api, { key: 'k', retry: { maxRetries: 9 } })
    await fail(id, 'first')
    await api.system.clock.advance(25 * HOUR)
    await fail(id, 'second')
    await fail(id, 'third')

    expect((await failures()).items).toHaveLength(2)
    expect((await failures(`?since=${at(30 * MINUTE)}`)).items).toHaveLength(3)
    const first = await failures(`?since=${at(0)}&limit=2`)
    const rest = await failures(`?since=${at(0)}&limit=2&cursor=${first.nextCursor}`)
    expect([first.items.length, rest.items.length, rest.nextCursor]).toEqual([2, 1, undefined])
  })

  it('are not counted from a change that the stream delivers again', async () => {
    const id = await published(api, { key: 'k' })
    await reported(api, 'fail')

    await count(id, ['1'])
    expect((await failures()).items).toEqual([])
    await count(id)
    expect((await failures()).items).toMatchObject([{ count: 1 }])
  })

  it('that cannot be counted are logged, and do not stop the planner', async () => {
    const broken = { ...api.system.failures, add: async () => Promise.reject(new Error('throttled')) }
    await api.renew({ failures: broken })

    await fail(await published(api, { key: 'k' }), 'x')

    expect(api.complaints.map(({ message }) => message)).toContain('failures were not counted')
  })

  it.each([
    ['?type=jbos', 404, 'type'],
    [`?since=${at(-8 * 24 * HOUR)}`, 400, 'since'],
    ['?since=yesterday', 400, 'since'],
    ['?cursor=x', 400, 'cursor'],
    ['?limit=0', 400, 'limit'],
    ['?status=failed', 400, 'status'],
  ])('with the query %s are refused by name', async (query, status, path) => {
    await expectRefused(api.call('GET', `/v1/failures${query}`), path, status)
  })

  it('with too many different errors are refused, and the refusal says what is legal', async () => {
    const hour = NOW - (NOW % HOUR)
    for (let n = 0; n <= 5_000; n++) {
      const failed = { type: 'jobs', error: `E: ${n}`, hour, count: 1, firstAt: NOW, lastAt: NOW }
      await api.system.failures.add({ ...failed, exampleId: 'jobs:a' })
    }

    const { body } = await expectRefused(api.call('GET', '/v1/failures'), 'since')

    expect(body.errors[0].message).toContain('give a type')
  })
})
