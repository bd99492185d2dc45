import { beforeAll, expect, it } from 'vitest'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { aWorkerFleet } from '../../support/workers/worker-fleet.ts'

/** Tests when tasks start, end and are taken over. `npm run bench` measures how fast that is. */

const { system, aWorker } = aWorkerFleet()

beforeAll(() => system.cloud.functions.find('Probe').warm(2))

it('a task that is due in 3.4 s does not start earlier, in Lambda or on a worker', async () => {
  await aWorker()
  const askedAt = Date.now()
  const ids = await Promise.all(
    ['probe', 'video'].map(type => system.publish({ type, key: 'in-3.4', input: {}, delayMs: 3_400 })),
  )

  const tasks = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded)))

  for (const task of tasks) {
    const dueAt = Date.parse(task.dueAt)
    expect(dueAt).toBeGreaterThanOrEqual(askedAt + 3_400)
    expect(Date.parse(task.startedAt)).toBeGreaterThanOrEqual(dueAt)
  }
})

it('a waiting HTTP claim returns a task that lists its worker', async () => {
  await system.call('PUT', '/v1/types/at-hand', { kind: 'http' })
  const claim = () =>
    system.call('POST', '/v1/claims', { type: 'at-hand', workerId: 'w', limit: 1, waitMs: 20_000 })
  const waiting = claim()
  await system.publish({ type: 'at-hand', key: 'listed', workerIds: ['w'] })

  expect((await waiting).body.claims).toMatchObject([{ task: { key: 'listed' } }])
})

it('a handler is aborted when its task is cancelled', async () => {
  const id = await system.publish({
    type: 'probe',
    key: 'cancelled',
    input: { report: system.reportUrl, sleepMs: 60_000 },
  })
  await system.reportWhen(({ key, event }) => key === 'cancelled' && event === 'started')

  const answer = await system.call('POST', `/v1/tasks/${id}/cancel`)
  await system.reportWhen(({ key, event }) => key === 'cancelled' && event === 'aborted')

  expect(answer).toMatchObject({ status: 200, body: { task: { status: 'cancelled' } } })
})

it('another worker takes over the task of a worker that dies; the retry counts, and a late finish is refused', async () => {
  const id = await system.publish({
    type: 'probe',
    key: 'killed',
    leaseMs: 2_000,
    input: { report: system.reportUrl, sleepMs: 60_000 },
  })
  const first = await system.reportWhen(({ key, event }) => key === 'killed' && event === 'started')
  const leaseOf = (task: { runs: ReadonlyArray<{ leaseUntil?: string }> }) => String(task.runs[0]?.leaseUntil)
  const claimed = leaseOf((await system.call('GET', `/v1/tasks/${id}`)).body)
  await system.taskWhen(id, task => leaseOf(task) > claimed)

  process.kill(first.pid, 'SIGKILL')
  const second = await system.reportWhen(({ key, attempt }) => key === 'killed' && attempt === 2)
  const late = await system.call('POST', `/v1/tasks/${id}/runs/${first.runId}/succeed`, {
    fence: first.fence,
    result: 'too late',
  })
  const task = (await system.call('GET', `/v1/tasks/${id}`)).body
  await system.call('POST', `/v1/tasks/${id}/cancel`)
  expect(second.fence).toBeGreaterThan(first.fence)
  expect(late.status).toBe(409)
  expect(late.body).toMatchObject({ reason: 'lost', holder: expect.stringMatching(/^lambda-/) })
  expect(task).toMatchObject({ status: 'running', attempts: { used: 2, left: 2 } })
  expect(task.runs.map(({ state }: { state: string }) => state)).toEqual(['lost', 'running'])
})
