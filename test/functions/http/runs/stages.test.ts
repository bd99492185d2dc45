import { beforeEach, describe, expect, it } from 'vitest'
import {
  anApiPerTest,
  claimed,
  expectRefused,
  published,
  reported,
  type Shown,
} from '../../../support/http/an-api.ts'
import { MINUTE } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()
beforeEach(async () => {
  await published(api, { key: 'a', stage: 'fetch', input: 'url' })
})

const get = () => api.task('jobs:a')

const say = (...report: [word: 'succeed' | 'fail', more?: object]) => reported(api, ...report)

const ERROR = { error: { name: 'Error', message: 'no' } }

describe('a task in stages', () => {
  it('is published in its first stage, which its claim shows', async () => {
    const { body } = await api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1' })

    expect(body.claims[0].task).toMatchObject({ stage: 'fetch', input: 'url', status: 'running' })
    expect(body.claims[0].run.idempotencyKey).toMatch(/\/fetch$/)
  })

  it('moves on with the report of its run, and keeps the fields that the report does not change', async () => {
    const { status, body } = await say('succeed', { result: 1, next: { stage: 'store' } })

    expect(status).toBe(200)
    expect(body.task).toMatchObject({ status: 'ready', stage: 'store', attempts: { used: 0, left: 4 } })
    expect(await get()).toMatchObject({ stage: 'store', input: 'url', priority: 0 })
    expect(await get()).not.toHaveProperty('result')
  })

  it('takes input, priority and delay from that report', async () => {
    await say('succeed', { next: { stage: 'store', input: { at: 's3' }, priority: 5, delayMs: MINUTE } })

    expect(await get()).toMatchObject({
      stage: 'store',
      input: { at: 's3' },
      priority: 5,
      status: 'delayed',
      statusReason: 'due',
      dueAt: '2026-01-01T12:01:00.000Z',
    })
  })

  it('has retries and attempts of its own in each stage, and shows its history by stage', async () => {
    await say('fail', { ...ERROR, retryInMs: 0 })
    await say('succeed', { next: { stage: 'store' } })
    await say('fail', { ...ERROR, retryInMs: 0 })

    const task = await get()

    expect(task.attempts).toEqual({ used: 1, left: 3 })
    expect(task.history.map(({ stage, outcome }: Shown) => [stage, outcome])).toEqual([
      ['fetch', 'failed'],
      ['fetch', 'succeeded'],
      ['store', 'failed'],
    ])
    expect(task.runs.map(({ stage }: Shown) => stage)).toEqual(['fetch', 'fetch', 'store'])
  })

  it('moves on in a batch of reports, too', async () => {
    const { id, runId, fence } = await claimed(api)
    const runs = [{ taskId: id, runId, fence, outcome: 'succeed', next: { stage: 'store' } }]

    const { body } = await api.call('POST', '/v1/runs/finish', { runs })

    expect(body.results[0].status).toBe(200)
    expect((await get()).stage).toBe('store')
  })

  it.each<[string, object, string]>([
    ['no stage', {}, 'next.stage'],
    ['a stage without a name', { stage: '' }, 'next.stage'],
    ['a priority that is not whole', { stage: 'x', priority: 1.5 }, 'next.priority'],
    ['a delay before now', { stage: 'x', delayMs: -1 }, 'next.delayMs'],
    ['another field', { stage: 'x', tags: {} }, 'next.tags'],
  ])('stays in its stage when the report names %s', async (_name, next, path) => {
    await expectRefused(say('succeed', { next }), path)
    expect(await get()).toMatchObject({ status: 'running', stage: 'fetch' })
  })

  it('refuses the next input when it is too long, and keeps the run', async () => {
    const refused = await say('succeed', { next: { stage: 'x', input: 'x'.repeat(360_000) } })

    expect(refused.status).toBe(413)
    expect((await get()).status).toBe('running')
  })
})

describe('an operator that moves a task to another stage', () => {
  it('stops its run, and the task is ready in the new stage at once', async () => {
    const { path, fence } = await claimed(api)

    const { status, body } = await api.call('PATCH', '/v1/tasks/jobs:a', { stage: 'store', priority: 2 })
    const late = await api.call('POST', `${path}/succeed`, { fence })

    expect(status).toBe(200)
    expect(body.task).toMatchObject({ stage: 'store', priority: 2, status: 'ready', attempts: { used: 0 } })
    expect(late).toMatchObject({ status: 409, body: { reason: 'cancelled' } })
  })

  it('must name the stage', async () => {
    await expectRefused(api.call('PATCH', '/v1/tasks/jobs:a', { stage: '' }), 'stage')
  })
})
