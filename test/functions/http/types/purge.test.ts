import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { workOnJob } from '../../../../shared/runtime/jobs/jobs.ts'
import { anApiPerTest, claimed, expectRefused, published } from '../../../support/http/an-api.ts'
import { SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

const purge = (body?: unknown) => api.call('POST', '/v1/types/jobs/purge', body)

async function served(): Promise<void> {
  await api.system.clock.advance(2 * SECOND)
  for (const look of api.system.messages.jobLooks.splice(0)) {
    await workOnJob(api.system, look, Number.POSITIVE_INFINITY)
  }
}

const statusOf = async (id: string) => (await api.call('GET', pathOf('get', id))).status

describe('a purge', () => {
  it('is accepted with the time up to which it removes tasks, and works in the background', async () => {
    const ids = [await published(api, { key: 'a' }), await published(api, { key: 'b', delayMs: 5_000 })]
    await api.system.clock.advance(SECOND)

    const { status, body } = await purge({ status: ['ready', 'ready'] })
    const shown = await api.call('GET', '/v1/types/jobs')
    expect(shown.body.purges).toMatchObject([{ status: ['ready'], before: body.before }])
    const later = await published(api, { key: 'later' })
    const [before] = await Promise.all(ids.map(statusOf))
    await served()

    expect({ status, body }).toEqual({
      status: 202,
      body: { type: 'jobs', status: ['ready'], before: '2026-01-01T12:00:01.000Z' },
    })
    expect(before).toBe(200)
    expect(await Promise.all([...ids, later].map(statusOf))).toEqual([404, 200, 200])
  })

  it('ends a run as DELETE does: the worker learns that the task was removed', async () => {
    await published(api)
    const { path, fence } = await claimed(api)
    await api.system.clock.advance(SECOND)

    await purge({ status: ['running'] })
    await served()

    const beat = await api.call('POST', `${path}/heartbeat`, { fence })
    expect(beat).toMatchObject({ status: 409, body: { reason: 'removed' } })
  })

  it('with a time removes the tasks published before it; a future time counts as now', async () => {
    const old = await published(api, { key: 'old' })
    await api.system.clock.advance(10 * SECOND)
    const young = await published(api, { key: 'young' })
    await api.system.clock.advance(SECOND)

    const future = await purge({ status: ['failed'], before: '2036-01-01T00:00:00Z' })
    await purge({ status: ['ready'], before: '2026-01-01T12:00:05Z' })
    await served()

    expect(future.body.before).toBe('2026-01-01T12:00:11.000Z')
    expect(await Promise.all([old, young].map(statusOf))).toEqual([404, 200])
  })

  it.each<[string, unknown, string]>([
    ['no status', {}, 'status'],
    ['an empty list', { status: [] }, 'status'],
    ['one word', { status: 'ready' }, 'status'],
    ['an unknown status', { status: ['ready', 'done'] }, 'status.1'],
    ['a malformed time', { status: ['ready'], before: 'yesterday' }, 'before'],
    ['an unknown field', { status: ['ready'], after: 1 }, 'after'],
    ['no body', undefined, ''],
  ])('is refused with %s, naming the field', async (_name, body, path) => {
    await expectRefused(purge(body), path)
    expect(api.system.messages.jobLooks).toEqual([])
  })

  it.each(['delayed', 'ready', 'running', 'compensating', 'succeeded', 'failed', 'cancelled'])(
    'may ask for %s',
    async status => {
      expect((await purge({ status: [status] })).status).toBe(202)
    },
  )

  it('is refused while ten purges of its type are under way', async () => {
    const asked = async (day: number) =>
      (await purge({ status: ['failed'], before: `2025-12-${day}T00:00:00Z` })).status

    const answers = []
    for (let day = 30; day >= 20; day--) answers.push(await asked(day))

    expect(answers).toEqual([...Array(10).fill(202), 409])
  })
})
