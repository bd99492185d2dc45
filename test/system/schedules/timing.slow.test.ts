import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, it } from 'vitest'
import { expectWithin } from '../../support/scale.ts'
import { aWorkerFleet, hasEnded, measured } from '../../support/workers/worker-fleet.ts'

/** What holds single waits to a few dozen milliseconds: these tests have the machine to themselves. */

/** The probe's own settings; see test/system/tasks/probe.ts. */
const LEASE_MS = 2_000
const HEARTBEAT_MS = 500

const { system, aWorker } = aWorkerFleet()

beforeAll(() => system().cloud.functions.find('Probe').warm(2))

it('starts a task due in 3.4 s between 3.40 and 3.55 s later, in Lambda and on a worker', async () => {
  await aWorker()
  const ids = await Promise.all(
    ['probe', 'video'].map(type => system().publish({ type, key: 'in-3.4', input: {}, delayMs: 3_400 })),
  )

  const tasks = await Promise.all(ids.map(id => system().taskWhen(id, hasEnded)))

  for (const task of tasks) {
    const createdAt = Date.parse(task.createdAt)
    const dueAt = Date.parse(task.dueAt)
    const startedAt = Date.parse(task.startedAt)
    // A millisecond may pass between reckoning the due time and writing the task.
    expect(Math.abs(dueAt - createdAt - 3_400)).toBeLessThanOrEqual(5)
    expect(startedAt).toBeGreaterThanOrEqual(dueAt)
    expectWithin(startedAt - createdAt, 3_550)
  }
})

it('starts each of 300 tasks that fall due at random within six seconds in time, on a worker', async () => {
  await aWorker(['--concurrency', '100'])
  const from = Date.now() + 1_500
  const tasks = Array.from({ length: 300 }, (_, nth) => {
    const dueAt = new Date(from + Math.floor(Math.random() * 6_000)).toISOString()
    return { type: 'video', key: `random-${nth}`, input: {}, dueAt }
  })
  for (let start = 0; start < tasks.length; start += 100) {
    const { body } = await system().call('POST', '/v1/tasks', { tasks: tasks.slice(start, start + 100) })
    expect(body.results.filter(({ status }: { status: number }) => status === 201)).toHaveLength(100)
  }

  const late: number[] = []
  for (const { key } of tasks) {
    const { dueAt, startedAt } = await system().taskWhen(`video:${key}`, hasEnded)
    late.push(Date.parse(startedAt) - Date.parse(dueAt))
  }
  late.sort((a, b) => a - b)
  const [least = 0, median = 0, most = 0] = [late[0], late[150], late.at(-1)]

  measured('300 tasks due at random: lateness p50', median)
  measured('300 tasks due at random: lateness max', most)
  expect(least).toBeGreaterThanOrEqual(0)
  expectWithin(median, 20)
  expectWithin(most, 100)
})

it('is seen by its listed worker within half a second of being published', async () => {
  await system().call('PUT', '/v1/types/at-hand', { kind: 'http' })
  const claim = () =>
    system().call('POST', '/v1/claims', { type: 'at-hand', workerId: 'w', limit: 1, waitMs: 5_000 })
  const waiting = claim()
  await system().publish({ type: 'at-hand', key: 'listed', workerIds: ['w'] })

  const [{ task }] = (await waiting).body.claims

  expectWithin(Date.parse(task.startedAt) - Date.parse(task.createdAt), 500)
})

it('is aborted within one heartbeat when its task is cancelled', async () => {
  const id = await system().publish({
    type: 'probe',
    key: 'cancelled',
    input: { report: system().reportUrl, sleepMs: 60_000 },
  })
  await system().reportWhen(({ key, event }) => key === 'cancelled' && event === 'started')

  const answer = await system().call('POST', `/v1/tasks/${id}/cancel`)
  const cancelledAt = Date.now()
  const aborted = await system().reportWhen(({ key, event }) => key === 'cancelled' && event === 'aborted')

  expect(answer).toMatchObject({ status: 200, body: { task: { status: 'cancelled' } } })
  expectWithin(aborted.at - cancelledAt, HEARTBEAT_MS + 300)
})

it('a worker that dies loses its task to another within lease + 2 s; the retry counts and its late finish is refused', async () => {
  const id = await system().publish({
    type: 'probe',
    key: 'killed',
    input: { report: system().reportUrl, sleepMs: 60_000 },
  })
  const first = await system().reportWhen(({ key, event }) => key === 'killed' && event === 'started')
  await sleep(2 * HEARTBEAT_MS)

  process.kill(first.pid, 'SIGKILL')
  const killedAt = Date.now()
  const second = await system().reportWhen(({ key, attempt }) => key === 'killed' && attempt === 2)
  const late = await system().call('POST', `/v1/tasks/${id}/runs/${first.runId}/succeed`, {
    fence: first.fence,
    result: 'too late',
  })
  const task = (await system().call('GET', `/v1/tasks/${id}`)).body
  await system().call('POST', `/v1/tasks/${id}/cancel`)

  expectWithin(second.at - killedAt, LEASE_MS + 2_000)
  expect(second.fence).toBeGreaterThan(first.fence)
  expect(late.status).toBe(409)
  expect(late.body).toMatchObject({ reason: 'lost', holder: expect.stringMatching(/^lambda-/) })
  expect(task).toMatchObject({ status: 'running', attempts: { used: 2, left: 2 } })
  expect(task.runs.map(({ state }: { state: string }) => state)).toEqual(['lost', 'running'])
})
