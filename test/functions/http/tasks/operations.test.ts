import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, claimed, published } from '../../../support/http/an-api.ts'
import { SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

describe('a task', () => {
  it('is changed field by field', async () => {
    const id = await published(api, { input: 'old', tags: { a: '1' } })
    const { status, body } = await api.call('PATCH', pathOf('get', id), {
      priority: 3,
      delayMs: 2 * SECOND,
      input: { new: true },
      tags: { b: '2' },
      timeoutMs: 9,
      retry: { maxRetries: 7 },
    })

    expect(status).toBe(200)
    expect(body.task).toMatchObject({
      status: 'delayed',
      priority: 3,
      dueAt: '2026-01-01T12:00:02.000Z',
      tags: { b: '2' },
      options: { timeoutMs: 9, retry: { maxRetries: 7, backoff: 'exponential' } },
    })
    expect(await api.task(id)).toMatchObject({ input: { new: true }, tags: { b: '2' } })
  })

  it('is not changed by an empty patch, and a patch with too few workers is refused by its field', async () => {
    const id = await published(api, { concurrency: 2 })
    const before = await api.task(id)
    const refused = await api.call('PATCH', pathOf('get', id), { workerIds: ['a'] })

    expect((await api.call('PATCH', pathOf('get', id), {})).body.task.updatedAt).toBe(before.updatedAt)
    expect(refused.status).toBe(400)
    expect(refused.body.errors[0].path).toBe('workerIds')
  })

  it('that has ended cannot be changed or cancelled, but can start over', async () => {
    await published(api, { key: 'k', input: 'old' })
    const run = await claimed(api)
    await api.call('POST', `${run.path}/succeed`, { fence: run.fence })
    const path = '/v1/tasks/jobs:k'

    expect((await api.call('PATCH', path, { priority: 1 })).status).toBe(409)
    expect((await api.call('POST', `${path}/cancel`)).status).toBe(409)
    expect((await api.call('POST', `${path}/retry`, { clean: ['failed'] })).status).toBe(409)
    expect((await api.call('POST', `${path}/retry`, { action: 'skip-undo' })).status).toBe(409)
    const retried = await api.call('POST', `${path}/retry`)
    expect(retried.body.task).toMatchObject({ status: 'ready', runs: [], attempts: { used: 0, left: 4 } })
    expect(await api.task('jobs:k')).toMatchObject({ input: 'old' })
    expect((await api.call('POST', `${path}/retry`)).status).toBe(409)
  })

  it('is cancelled, and the cancel may be repeated', async () => {
    const id = await published(api)

    expect((await api.call('POST', `${pathOf('get', id)}/cancel`)).body.task.status).toBe('cancelled')
    expect((await api.call('POST', `${pathOf('get', id)}/cancel`, {})).status).toBe(200)
    expect((await api.call('POST', `${pathOf('get', id)}/retry`)).body.task.status).toBe('ready')
  })

  it('is removed once, and every later request is a 404', async () => {
    const id = await published(api)

    expect((await api.call('DELETE', pathOf('get', id))).status).toBe(204)
    expect((await api.call('DELETE', pathOf('get', id))).status).toBe(404)
    for (const answer of [
      await api.call('GET', pathOf('get', id)),
      await api.call('PATCH', pathOf('get', id), { priority: 1 }),
      await api.call('POST', `${pathOf('get', id)}/cancel`),
      await api.call('POST', `${pathOf('get', id)}/retry`),
    ])
      expect(answer.status).toBe(404)
    expect((await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w' })).body.claims).toEqual([])
  })
})
