import { describe, expect, it } from 'vitest'
import { readTask } from '../../../../shared/runtime/kernel/heads.ts'
import {
  anApiPerTest,
  claimed,
  claims,
  expectRefused,
  published,
  type Shown,
} from '../../../support/http/an-api.ts'
import { NOW, SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

describe('the report of a run', () => {
  it('that it is alive renews its lease and returns the present options', async () => {
    await published(api, { key: 'a' })
    const { path, fence } = await claimed(api)
    await api.call('PATCH', '/v1/tasks/jobs:a', { heartbeatMs: 700, leaseMs: 2_100 })
    await api.system.clock.advance(SECOND)

    const { status, body } = await api.call('POST', `${path}/heartbeat`, { fence, progress: { done: 3 } })

    expect(status).toBe(200)
    expect(body.leaseUntil).toBe(new Date(NOW + 16 * SECOND).toISOString())
    expect(body.options).toMatchObject({ heartbeatMs: 700, leaseMs: 2_100 })
    expect((await api.task('jobs:a')).runs[0]).toMatchObject({
      progress: { done: 3 },
      leaseUntil: body.leaseUntil,
    })
  })

  it('that it succeeded ends the task once, and may be repeated', async () => {
    await published(api, { key: 'a' })
    const { path, fence } = await claimed(api)
    const result = { big: 'x'.repeat(1_000) }
    await api.system.clock.advance(60 * SECOND)
    const first = await api.call('POST', `${path}/succeed`, { fence, result })
    const again = await api.call('POST', `${path}/succeed`, { fence, result })

    expect(first.body.task).toMatchObject({ status: 'succeeded', result })
    expect(again.status).toBe(200)
    expect(await api.task('jobs:a')).toMatchObject({
      status: 'succeeded',
      result,
      runs: [{ state: 'succeeded', result }],
      attempts: { used: 1, left: 3 },
      history: [{ outcome: 'succeeded', costMs: 60_000, traceId: expect.any(String) }],
      finishedAt: new Date(NOW + 60_000).toISOString(),
    })
    expect(
      (await api.call('POST', `${path}/fail`, { fence, error: { name: 'E', message: 'm' } })).status,
    ).toBe(409)
  })

  it('that it failed costs a retry, and the whole error is recorded', async () => {
    await published(api, { key: 'a', retry: { maxRetries: 1 } })
    const error = { name: 'Broken', message: 'm'.repeat(300), stack: 'at x' }
    const first = await claimed(api)
    const failed = await api.call('POST', `${first.path}/fail`, { fence: 1, error, retryInMs: 0 })
    expect(failed.body.task).toMatchObject({ status: 'ready', attempts: { used: 1, left: 1 } })

    const second = await claimed(api)
    await api.call('POST', `${second.path}/fail`, { fence: 2, error: { name: 'Broken', message: 'again' } })
    expect(await api.task('jobs:a')).toMatchObject({
      status: 'failed',
      error: { message: 'again' },
      runs: [
        { fence: 1, state: 'failed', error },
        { fence: 2, state: 'failed', error: { message: 'again' } },
      ],
      history: [{ outcome: 'failed' }, { outcome: 'failed' }],
    })
  })

  it('that it releases the task costs nothing', async () => {
    await published(api, { key: 'a' })
    const { path, fence } = await claimed(api)
    const { body } = await api.call('POST', `${path}/release`, { fence, delayMs: 500 })

    expect(body.task).toMatchObject({ status: 'delayed', attempts: { used: 0, left: 4 } })
  })

  it.each([
    ['cancelled', async () => api.call('POST', '/v1/tasks/jobs:a/cancel')],
    ['removed', async () => api.call('DELETE', '/v1/tasks/jobs:a')],
    ['excluded', async () => api.call('PATCH', '/v1/tasks/jobs:a', { workerIds: ['w9'] })],
    [
      'removed',
      async () => {
        await api.call('DELETE', '/v1/tasks/jobs:a')
        await published(api, { key: 'a' })
      },
    ],
    [
      'lost',
      async () => {
        await api.system.clock.advance(16 * SECOND)
        const lost = await readTask(api.system, 'jobs:a')
        const { lose } = await import('../../../../shared/core/run/lease.ts')
        const decision = lost && lose(lost, api.system.clock.now())
        if (decision?.ok) await api.system.tasks.apply(decision.change)
      },
    ],
  ])('is refused with the reason %s', async (reason, undo) => {
    await published(api, { key: 'a' })
    const { path, fence, id, runId } = await claimed(api)
    await undo()

    for (const [word, more] of [
      ['heartbeat', {}],
      ['succeed', {}],
      ['fail', { error: { name: 'E', message: '' } }],
    ] as const) {
      const { status, body } = await api.call('POST', `${path}/${word}`, { fence, ...more })
      expect(status).toBe(409)
      expect(body).toMatchObject({ reason })
      expect(body.detail).toContain(id)
    }
    const batch = await api.call('POST', '/v1/runs/heartbeat', { runs: [{ taskId: id, runId, fence }] })
    expect(batch.body.results).toMatchObject([{ taskId: id, runId, status: 409, reason }])
  })

  it('about a run that is over is refused, and the answer names the present holder', async () => {
    await published(api, { key: 'a' })
    const zombie = await claimed(api, { workerId: 'old' })
    await api.call('POST', `${zombie.path}/release`, { fence: 1 })
    const { fence } = await claimed(api, { workerId: 'new' })
    const { status, body } = await api.call('POST', `${zombie.path}/succeed`, { fence: 1 })

    expect(fence).toBe(2)
    expect(status).toBe(409)
    expect(body).toMatchObject({ reason: 'ended', holder: 'new', run: { state: 'released' } })
    expect((await api.call('POST', `${zombie.path}/succeed`, { fence: 2 })).status).toBe(400)
  })

  it('with a result or a progress that is too long is a 413', async () => {
    await published(api)
    const { path, fence } = await claimed(api)
    const long = 'x'.repeat(360_000)

    await expectRefused(api.call('POST', `${path}/succeed`, { fence, result: long }), 'result', 413)
    await expectRefused(api.call('POST', `${path}/heartbeat`, { fence, progress: long }), 'progress', 413)
  })
})

describe('reports of many runs', () => {
  it('have one result each, in their order', async () => {
    for (const key of ['a', 'b', 'c', 'd']) await published(api, { key })
    const runs = (await claims(api)).map(({ task, run }) => ({
      taskId: task.id,
      runId: run.id,
      fence: run.fence,
    }))

    const beats = await api.call('POST', '/v1/runs/heartbeat', {
      runs: [...runs, { ...runs[0], fence: 'x' }, 7],
    })
    expect(beats.body.results.map((result: Shown) => result.status)).toEqual([200, 200, 200, 200, 400, 400])
    expect(beats.body.results[0]).toMatchObject({ taskId: 'jobs:a', leaseUntil: expect.any(String) })
    expect(beats.body.results[4].problem.errors[0].path).toBe('runs.4.fence')

    const outcomes = [
      { outcome: 'succeed', result: 1 },
      { outcome: 'fail', error: { name: 'E', message: 'm' } },
      { outcome: 'release', delayMs: 5 },
      { outcome: 'give up' },
    ]
    const ends = await api.call('POST', '/v1/runs/finish', {
      runs: [
        ...runs.map((run, n) => ({ ...run, ...outcomes[n] })),
        { ...runs[0], ...outcomes[0] },
        { ...runs[3], outcome: 'succeed', result: 'x'.repeat(360_000) },
        { taskId: 'jobs:none', runId: runs[0]?.runId, fence: 1, outcome: 'succeed' },
        { ...runs[3], outcome: 'release', error: {} },
      ],
    })
    expect(ends.body.results.map((result: Shown) => result.status)).toEqual([
      200, 200, 200, 400, 200, 413, 404, 400,
    ])
    expect(ends.body.results[0].task).toMatchObject({ id: 'jobs:a', status: 'succeeded' })
    expect(ends.body.results[0].task).not.toHaveProperty('result')
    expect(ends.body.results[3].problem.errors[0].path).toBe('runs.3.outcome')
    expect(ends.body.results[7].problem.errors[0].path).toBe('runs.7.error')
    expect((await api.task('jobs:d')).status).toBe('running')
  })
})
