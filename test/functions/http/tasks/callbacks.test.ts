import { describe, expect, it } from 'vitest'
import { planChanges } from '../../../../shared/runtime/stream/stream.ts'
import { aFlowApiPerTest, problemPaths } from '../../../support/http/a-flow-api.ts'
import { expectRefused } from '../../../support/http/an-api.ts'
import { timed } from '../../../support/worlds/memory-system.ts'

const api = aFlowApiPerTest()

describe('a callback', () => {
  const planned = async (id: string) => {
    const task = await api.system.tasks.head(id)
    if (task) await planChanges(api.system, [{ task, position: 'p' }])
  }

  it('is owed at the end of its task, is shown as owed, and names its parent', async () => {
    await api.call('POST', '/v1/tasks', {
      type: 'jobs',
      key: 'a',
      userId: 'ann',
      onSuccess: [{ type: 'jobs', key: 'b', input: [1] }],
    })
    await api.succeed('done')
    expect(await api.get('jobs:a')).toMatchObject({ status: 'succeeded', statusReason: 'callbacks-owed' })

    await planned('jobs:a')

    expect(await api.get('jobs:a')).not.toHaveProperty('statusReason')
    expect(await api.get('jobs:b')).toMatchObject({
      parentId: 'jobs:a',
      userId: 'ann',
      input: [1],
      previous: 'done',
    })
    expect((await api.claim()).task).toMatchObject({ id: 'jobs:b', input: [1, 'done'], previous: 'done' })
  })

  it.each<[string, object, string]>([
    ['itself', { onSuccess: [{ type: 'jobz' }] }, 'onSuccess.0.type'],
    [
      'of its own callback',
      { onError: [{ type: 'jobs', onSuccess: [{ type: 'jobz' }] }] },
      'onError.0.onSuccess.0.type',
    ],
  ])(
    'is refused with 404 as any publish is, when the type is not registered: %s',
    async (_whose, body, path) => {
      const refused = await api.call('POST', '/v1/tasks', { type: 'jobs', key: 'a', ...body })

      expect(refused).toMatchObject({ status: 404, body: { type: 'urn:baton:problem:unknown-type' } })
      expect(refused.body.detail).toBe(
        `'jobz' in ${path} is not registered; did you mean 'jobs'? There are jobs, resize`,
      )
      expect(problemPaths(refused)).toEqual([path])
      expect((await api.call('GET', '/v1/tasks/jobs:a')).status).toBe(404)
    },
  )

  it.each<[string, object, string]>([
    ['with a bad field', { onError: [{ type: 'jobs', priority: 'high' }] }, 'onError.0.priority'],
    [
      'with a field that only tasks of their own have',
      { onError: [{ type: 'jobs', ifExists: 'keep' }] },
      'onError.0.ifExists',
    ],
    [
      'nested, with two times',
      {
        onSuccess: [{ type: 'jobs', onError: [{ type: 'jobs', delayMs: 1, dueAt: '2026-01-02T00:00:00Z' }] }],
      },
      'onSuccess.0.onError.0.delayMs',
    ],
    ['that is not a list', { onSuccess: { type: 'jobs' } }, 'onSuccess'],
  ])('is refused at publish: %s', async (_name, body, path) => {
    await expectRefused(api.call('POST', '/v1/tasks', { type: 'jobs', ...body }), path)
  })
})

describe('a callback that can no longer be published', () => {
  it('is shown with its task, and an operator can retry it once its type allows it', async () => {
    const put = (defaults: object) =>
      timed(api.system, api.call('PUT', '/v1/types/jobs', { kind: 'http', defaults }))
    await api.call('POST', '/v1/tasks', {
      type: 'jobs',
      key: 'a',
      onSuccess: [{ type: 'jobs', key: 'b', workerIds: ['w1'] }],
    })
    await api.succeed('done')
    await put({ concurrency: 2 })
    const task = await api.system.tasks.head('jobs:a')
    if (task) await planChanges(api.system, [{ task, position: 'p' }])

    const shown = await api.get('jobs:a')
    const refused = await api.call('POST', '/v1/tasks/jobs:a/retry', { action: 'retry-callbacks' })
    const started = await api.call('POST', '/v1/tasks/jobs:a/retry')

    expect(shown).toMatchObject({
      status: 'succeeded',
      statusReason: 'callbacks-owed',
      needsAttention: true,
      callbackProblems: [{ path: 'onSuccess.0.workerIds' }],
    })
    expect([refused.status, started.status]).toEqual([409, 409])
    expect(refused.body.detail).toBe(
      'jobs:a owes callbacks that cannot be published: onSuccess.0.workerIds lists 1, but concurrency is 2; list at least 2 workers, or none; change the type and use action "retry-callbacks", or remove the task to drop them',
    )

    await put({})
    const retried = await api.call('POST', '/v1/tasks/jobs:a/retry', { action: 'retry-callbacks' })

    expect(retried).toMatchObject({ status: 200, body: { task: { status: 'succeeded' } } })
    expect(retried.body.task).not.toHaveProperty('needsAttention')
    expect(await api.get('jobs:b')).toMatchObject({ parentId: 'jobs:a' })
    expect((await api.call('POST', '/v1/tasks/jobs:a/retry', { action: 'retry-callbacks' })).status).toBe(409)
  })
})
