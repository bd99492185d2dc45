import { expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { WORKER_ID_BYTES_MAX } from '../../../../shared/core/bounds.ts'
import { BatonError } from '../../../../shared/core/values/values.ts'
import { anApi, claimed, published } from '../../../support/http/an-api.ts'
import { SECOND } from '../../../support/tasks/a-task.ts'
import { aTaskStore } from '../../../support/worlds/memory-system.ts'

/** Longer than the time limit of a request. */
const TOO_LONG_MS = 29 * SECOND

/** An API whose store may make every write of a head wait, or lose its race. */
async function troubledApi() {
  const tasks = aTaskStore()
  let trouble: 'none' | 'races' | 'silence' | 'outage' = 'none'
  const api = await anApi({
    tasks: {
      ...tasks,
      apply: async change => {
        if (trouble === 'outage') throw new BatonError('unavailable', 'no answer')
        if (trouble === 'silence') return new Promise(() => undefined)
        if (trouble === 'none') return tasks.apply(change)
        await api.system.clock.sleep(20)
        return { applied: false, current: await tasks.head(change.after.id) }
      },
    },
  })
  const troubled = (next: typeof trouble) => {
    trouble = next
  }
  return { api, troubled }
}

it.each(['races', 'silence', 'outage'] as const)(
  'a finish that meets nothing but %s is answered 503 in time, and its repetition counts once',
  async kind => {
    const { api, troubled } = await troubledApi()
    const id = await published(api, { key: 'a' })
    const { path, fence } = await claimed(api)
    troubled(kind)

    const answering = api.call('POST', `${path}/succeed`, { fence, result: 1 })
    await api.system.clock.advance(TOO_LONG_MS)
    const { status, headers, body } = await answering
    troubled('none')
    const [again, oncemore] = [
      await api.call('POST', `${path}/succeed`, { fence, result: 1 }),
      await api.call('POST', `${path}/succeed`, { fence, result: 1 }),
    ]

    expect(status).toBe(503)
    expect(headers.get('retry-after')).toBe('1')
    expect(body.type).toBe('urn:baton:problem:unavailable')
    expect([again.status, oncemore.status]).toEqual([200, 200])
    expect((await api.call('GET', pathOf('get', id))).body).toMatchObject({
      status: 'succeeded',
      attempts: { used: 1 },
    })
  },
)

it('a heartbeat that cannot be written in time is answered 503', async () => {
  const { api, troubled } = await troubledApi()
  await published(api, { key: 'a' })
  const { path, fence } = await claimed(api)
  troubled('silence')

  const answering = api.call('POST', `${path}/heartbeat`, { fence })
  await api.system.clock.advance(TOO_LONG_MS)

  expect(await answering).toMatchObject({ status: 503 })
})

it('the reports of one request share its time: each one that is not written by then is answered 503', async () => {
  const { api, troubled } = await troubledApi()
  await published(api, { key: 'a', concurrency: 2 })
  const runs = []
  for (const workerId of ['w1', 'w2']) {
    const { id, runId, fence } = await claimed(api, { workerId })
    runs.push({ taskId: id, runId, fence, outcome: 'fail', error: { name: 'E', message: 'no' } })
  }
  troubled('races')

  const answering = api.call('POST', '/v1/runs/finish', { runs })
  await api.system.clock.advance(TOO_LONG_MS)

  const { status, body } = await answering
  expect(status).toBe(200)
  expect(body.results.map((one: { status: number }) => one.status)).toEqual([503, 503])
})

it('a claim whose every write loses its race is answered 503, and a later one gets the task', async () => {
  const { api, troubled } = await troubledApi()
  await published(api, { key: 'a' })
  troubled('races')

  const answering = api.call('POST', '/v1/claims', { type: 'jobs', workerId: 'w1' })
  await api.system.clock.advance(TOO_LONG_MS)
  const { status, headers } = await answering
  troubled('none')

  expect(status).toBe(503)
  expect(headers.get('retry-after')).toBe('1')
  expect((await claimed(api)).id).toBe('jobs:a')
})

it.each([
  ['a crowded type', { concurrency: 100 }, {}],
  ['a limited type', {}, { limits: { concurrency: { max: 5 } } }],
])(
  'a claim of %s that loses every race is answered within its wait and eight seconds, over all that it tries',
  async (_name, parts, configuration) => {
    const { api, troubled } = await troubledApi()
    const type = 'contested'
    await api.call('PUT', `/v1/types/${type}`, { kind: 'http', ...configuration })
    await published(api, { type, key: 'a', ...parts })
    await published(api, { type, key: 'b', ...parts })
    troubled('races')

    const answering = api.call('POST', '/v1/claims', {
      type,
      workerId: 'w1',
      limit: 2,
      waitMs: 1_000,
    })
    const answered = answering.then(({ status }) => status)
    await api.system.clock.advance(9 * SECOND)

    expect(await Promise.race([answered, 'too late'])).toBe(503)
  },
)

it('a worker id that is too long for heads is refused, with the legal length', async () => {
  const api = await anApi()
  const workerId = '𝕏'.repeat(WORKER_ID_BYTES_MAX / 4 + 1)

  const claim = await api.call('POST', '/v1/claims', { type: 'jobs', workerId })
  const listed = await api.call('POST', '/v1/tasks', { type: 'jobs', workerIds: [workerId] })

  expect(claim).toMatchObject({ status: 400, body: { errors: [{ path: 'workerId' }] } })
  expect(listed).toMatchObject({ status: 400, body: { errors: [{ path: 'workerIds.0' }] } })
  expect(claim.body.detail).toContain('at most 256 bytes')
})
