import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { anApiPerTest, expectRefused, published } from '../../../support/http/an-api.ts'
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

    expect((await api.call('PATCH', pathOf('get', id), {})).body.task.updatedAt).toBe(before.updatedAt)
    await expectRefused(api.call('PATCH', pathOf('get', id), { workerIds: ['a'] }), 'workerIds')
  })

  it('is cancelled, and the cancel may be repeated', async () => {
    const id = await published(api)

    expect((await api.call('POST', `${pathOf('get', id)}/cancel`)).body.task.status).toBe('cancelled')
    expect((await api.call('POST', `${pathOf('get', id)}/cancel`, {})).status).toBe(200)
    expect((await api.call('POST', `${pathOf('get', id)}/retry`)).body.task.status).toBe('ready')
  })
})
