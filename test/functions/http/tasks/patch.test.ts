import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import { anApiPerTest, expectRefused, published } from '../../../support/http/an-api.ts'
import { MINUTE, SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

const DEFAULTS = { timeoutMs: 7_000, heartbeatMs: 500, leaseMs: 2_000, priority: 4, retry: { maxRetries: 9 } }

async function patched(id: string, changes: object) {
  const { status, body } = await api.call('PATCH', pathOf('get', id), changes)
  expect(status, JSON.stringify(body)).toBe(200)
  return (await api.call('GET', pathOf('get', id))).body
}

describe('null in a PATCH', () => {
  it('sets an option to the present default of the type', async () => {
    const id = await published(api, {
      timeoutMs: 1_000,
      leaseMs: 60_000,
      priority: 1,
      retry: { maxRetries: 1 },
    })
    await api.call('PUT', '/v1/types/jobs', { kind: 'http', defaults: DEFAULTS })

    const task = await patched(id, {
      timeoutMs: null,
      leaseMs: null,
      heartbeatMs: null,
      priority: null,
      retry: null,
    })

    expect(task.options).toMatchObject({
      timeoutMs: 7_000,
      heartbeatMs: 500,
      leaseMs: 2_000,
      retry: { maxRetries: 9, backoff: 'exponential' },
    })
    expect(task.priority).toBe(4)
  })

  it('removes an option where the type has no default, and changes nothing else', async () => {
    const id = await published(api, {
      timeoutMs: 1_000,
      minWorkerVersion: '2',
      workerIds: ['w9'],
      tags: { a: 'b' },
      deadlineMs: MINUTE,
      retry: { backoff: 'ladder', delaysMs: [5] },
    })

    const task = await patched(id, {
      timeoutMs: null,
      minWorkerVersion: null,
      workerIds: null,
      tags: null,
      retry: { backoff: null, delaysMs: null },
    })

    expect(task.options).not.toHaveProperty('timeoutMs')
    expect(task.options).not.toHaveProperty('minWorkerVersion')
    expect(task.options.retry).not.toHaveProperty('delaysMs')
    expect(task.options).toMatchObject({
      workerIds: [],
      deadlineMs: MINUTE,
      retry: { backoff: 'exponential' },
    })
    expect(task).not.toHaveProperty('tags')
  })

  it('removes a deadline, so that the task outlives it', async () => {
    const id = await published(api, { deadlineMs: MINUTE })
    await patched(id, { deadlineMs: null })
    await api.system.clock.advance(2 * MINUTE)

    const { body } = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1' })

    expect(body.claims).toHaveLength(1)
    expect((await readTask(api.system, id))?.deadlineAt).toBeUndefined()
  })

  it('in a flow clears the options of the whole flow', async () => {
    const steps = [{ name: 'a', do: { type: 'jobs' } }]
    await api.call('PUT', '/v1/types/order', { kind: 'flow', steps })
    const id = await published(api, { type: 'order', deadlineMs: MINUTE, retentionMs: 5 })

    const task = await patched(id, { deadlineMs: null, retentionMs: null })

    expect((await readTask(api.system, id))?.deadlineAt).toBeUndefined()
    expect(task.options.retentionMs).toBe(7 * 24 * 60 * MINUTE)
    const refused = await api.call('PATCH', pathOf('get', id), { timeoutMs: null })
    expect(refused).toMatchObject({ status: 400, body: { errors: [{ path: 'timeoutMs' }] } })
  })

  it('is refused where options would contradict each other, and where there is no default', async () => {
    const id = await published(api, { retry: { backoff: 'ladder', delaysMs: [5] } })

    const odds = await api.call('PATCH', pathOf('get', id), { retry: { delaysMs: null } })
    const due = await api.call('PATCH', pathOf('get', id), { dueAt: null, stage: null })

    expect(odds).toMatchObject({ status: 400, body: { errors: [{ path: 'retry.delaysMs' }] } })
    expect(due).toMatchObject({ status: 400, body: { errors: [{ path: 'dueAt' }, { path: 'stage' }] } })
  })
})

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
