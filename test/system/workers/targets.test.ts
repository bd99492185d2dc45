import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { type LocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'
import { expectWithin } from '../../support/scale.ts'

const TYPE = 'targeted'
/** The planner's way from a write to its markers, generously. */
const PLANNED_MS = 400

let system: LocalSystem

beforeAll(async () => {
  system = await startLocalSystem()
  await system.call('PUT', `/v1/types/${TYPE}`, { kind: 'http' })
})

afterAll(() => system?.stop())

async function claim(workerId: string, more: object = {}) {
  const { status, body } = await system.call('POST', '/v1/claims', {
    type: TYPE,
    workerId,
    limit: 10,
    ...more,
  })
  expect(status).toBe(200)
  return body.claims
}

const keysOf = (claims: ReadonlyArray<{ task: { key: string } }>) => claims.map(({ task }) => task.key)
const get = async (id: string) => (await system.call('GET', `/v1/tasks/${id}`)).body

describe('a task for listed workers', () => {
  it('goes to one of them and to nobody else', async () => {
    await system.publish({ type: TYPE, key: 'listed', workerIds: ['b', 'c'] })

    const [ofOther, ofListed] = await Promise.all([
      claim('a', { waitMs: 1_500 }),
      claim('b', { waitMs: 5_000 }),
    ])

    expect(ofOther).toEqual([])
    expect(keysOf(ofListed)).toEqual(['listed'])
    expect(await claim('c')).toEqual([])
  })

  it('reaches a worker that waits for it, when it is due and not before', async () => {
    await system.publish({ type: TYPE, key: 'delayed', workerIds: ['b'], delayMs: 1_500 })
    const early = await claim('b')

    const claims = await claim('b', { waitMs: 6_000 })

    expect(early).toEqual([])
    expect(keysOf(claims)).toEqual(['delayed'])
    const { dueAt, runs } = claims[0].task
    const latenessMs = Date.parse(runs[0].startedAt) - Date.parse(dueAt)
    expect(latenessMs).toBeGreaterThanOrEqual(0)
    expectWithin(latenessMs, 2_000)
  })

  it('is claimed again by its worker after a failure, with no message to anybody', async () => {
    const before = system.cloud.meter.snapshot()
    const retry = { backoff: 'fixed', delayMs: 100 }
    const id = await system.publish({ type: TYPE, key: 'again', workerIds: ['b'], retry })
    const [first] = await claim('b', { waitMs: 3_000 })
    const error = { name: 'E', message: 'once' }
    await system.call('POST', `/v1/tasks/${id}/runs/${first.run.id}/fail`, { fence: first.run.fence, error })

    const [second] = await claim('b', { waitMs: 5_000 })

    expect(second.run.fence).toBe(first.run.fence + 1)
    const sent = system.cloud.meter.since(before).filter(({ service }) => service === 'sqs')
    expect(sent.filter(({ resource }) => resource.includes('-q-'))).toEqual([])
  })

  it('says what it waits for: its worker, or that none of its workers is there', async () => {
    const id = await system.publish({ type: TYPE, key: 'waits', workerIds: ['late'] })

    const before = await get(id)
    await claim('late', { limit: 1 })
    const other = await system.publish({ type: TYPE, key: 'waits-too', workerIds: ['late', 'later'] })
    await sleep(1_100)

    expect(before).toMatchObject({ status: 'ready', statusReason: 'no-worker' })
    expect(await get(other)).toMatchObject({ status: 'ready', statusReason: 'target-worker' })
  })

  it('of a handler type is no message on its queue; without the list it is', async () => {
    const before = system.cloud.meter.snapshot()
    const id = await system.publish({ type: 'probe', key: 'nobody', input: {}, workerIds: ['nobody'] })
    await sleep(PLANNED_MS)
    const waiting = await get(id)
    const used = system.cloud.meter.since(before)

    await system.call('PATCH', `/v1/tasks/${id}`, { workerIds: [] })
    const done = await system.taskWhen(id, ({ status }) => status === 'succeeded')

    expect(waiting).toMatchObject({ status: 'ready', statusReason: 'no-worker' })
    expect(
      used.filter(({ service, operation }) => service === 'sqs' && operation.startsWith('Send')),
    ).toEqual([])
    expect(done.attempts.used).toBe(1)
  })

  it('stands in nobody’s way: others claim for what one claim costs', async () => {
    const crowd = Array.from({ length: 100 }, (_, i) => ({
      type: TYPE,
      key: `crowd-${i}`,
      priority: 9,
      workerIds: ['absent'],
    }))
    await system.call('POST', '/v1/tasks', { tasks: crowd })
    await system.publish({ type: TYPE, key: 'for-anybody' })
    await sleep(2 * PLANNED_MS)

    const before = system.cloud.meter.snapshot()
    const claims = await claim('somebody')
    const used = totalOf(
      system.cloud.meter
        .since(before)
        .filter(({ caller, service }) => service === 'dynamodb' && /Api/.test(caller)),
    )

    expect(keysOf(claims)).toEqual(['for-anybody'])
    expect(used.readUnits).toBeLessThanOrEqual(12)
    expect((await claim('absent', { limit: 100 })).length).toBe(100)
  })
})

describe('the registry', () => {
  // biome-ignore lint/suspicious/noExplicitAny: as users read it
  const workers = async (): Promise<any[]> => (await system.call('GET', '/v1/workers?limit=100')).body.items

  it('lists workers that claim, with what they hold, and Lambda by type', async () => {
    await system.publish({ type: 'probe', key: 'long', input: { sleepMs: 4_000 } })
    await system.publish({ type: TYPE, key: 'held' })
    await claim('holder', { workerVersion: '1.4.0' })
    await sleep(2_500)

    const found = await workers()

    expect(found.find(({ id }) => id === 'holder')).toEqual({
      id: 'holder',
      kind: 'http',
      version: '1.4.0',
      types: [TYPE],
      running: 1,
      lastSeen: expect.any(String),
    })
    expect(found.find(({ id }) => id === 'lambda:probe')).toEqual({
      id: 'lambda:probe',
      kind: 'lambda',
      types: ['probe'],
      running: 1,
    })
  })

  it('costs a worker that claims all the time one write in ten seconds per process of the API', async () => {
    const before = system.cloud.meter.snapshot()
    for (let i = 0; i < 20; i++) await claim('eager')

    const api = system.cloud.functions.find('TasksApiFunction')
    const puts = system.cloud.meter
      .since(before)
      .filter(({ caller, operation }) => caller === api.logicalId && operation === 'PutItem')
    expect(totalOf(puts).writeUnits).toBeLessThanOrEqual(api.pids().length)
  })
})
