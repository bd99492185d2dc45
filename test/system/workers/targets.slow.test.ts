import { beforeAll, describe, expect, it } from 'vitest'
import { totalOf } from '../../../local/gateway/meter.ts'
import { untilQuiet } from '../../support/dynamo/unit-bill.ts'
import { aLocalSystem } from '../../support/local-system/local-system.ts'

const TYPE = 'targeted'

const system = aLocalSystem()

beforeAll(async () => {
  // No lease ends during these tests, and no sweep sends a dispatch.
  system.cloud.scheduler.disable('Sweep')
  await system.call('PUT', `/v1/types/${TYPE}`, { kind: 'http', defaults: { leaseMs: 600_000 } })
})

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

/** Claims until there is work, and returns the claims. */
async function claimed(workerId: string) {
  for (;;) {
    const claims = await claim(workerId, { waitMs: 5_000 })
    if (claims.length > 0) return claims
  }
}

const keysOf = (claims: ReadonlyArray<{ task: { key: string } }>) => claims.map(({ task }) => task.key)
const get = async (id: string) => (await system.call('GET', `/v1/tasks/${id}`)).body

describe('a task for listed workers', () => {
  it('reaches a worker that waits for it when the task is due, and not before', async () => {
    await system.publish({ type: TYPE, key: 'delayed', workerIds: ['b'], delayMs: 3_600_000 })
    const early = await claim('b')
    await system.call('PATCH', `/v1/tasks/${TYPE}:delayed`, { delayMs: 1_000 })

    const claims = await claimed('b')

    expect(early).toEqual([])
    expect(keysOf(claims)).toEqual(['delayed'])
    const { dueAt, runs } = claims[0].task
    expect(Date.parse(runs[0].startedAt)).toBeGreaterThanOrEqual(Date.parse(dueAt))
  })

  it('is claimed again by its worker after a failure, and no dispatch is sent', async () => {
    const before = system.cloud.meter.snapshot()
    const retry = { backoff: 'fixed', delayMs: 100 }
    const id = await system.publish({ type: TYPE, key: 'again', workerIds: ['b'], retry })
    const [first] = await claimed('b')
    const error = { name: 'E', message: 'once' }
    await system.call('POST', `/v1/tasks/${id}/runs/${first.run.id}/fail`, { fence: first.run.fence, error })

    const [second] = await claimed('b')

    expect(second.run.fence).toBe(first.run.fence + 1)
    const sent = system.cloud.meter.since(before).filter(({ service }) => service === 'sqs')
    expect(sent.filter(({ resource }) => resource.includes('-q-'))).toEqual([])
  })

  it('of a handler type has no dispatch in the queue; without the list it has one', async () => {
    await untilQuiet(system)
    const before = system.cloud.meter.snapshot()
    const id = await system.publish({ type: 'probe', key: 'nobody', input: {}, workerIds: ['nobody'] })
    await untilQuiet(system)
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

  it('does not delay other tasks: a claim of another worker costs no more because of it', async () => {
    const crowd = Array.from({ length: 100 }, (_, i) => ({
      type: TYPE,
      key: `crowd-${i}`,
      priority: 9,
      workerIds: ['absent'],
    }))
    await system.call('POST', '/v1/tasks/batch', { tasks: crowd })
    await system.publish({ type: TYPE, key: 'for-anybody' })
    await untilQuiet(system)

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

  it('lists workers that claim, with the number of their runs, and Lambda by type', async () => {
    await system.publish({ type: 'probe', key: 'long', input: { sleepMs: 600_000 } })
    await system.taskWhen('probe:long', ({ status }) => status === 'running')
    await system.publish({ type: TYPE, key: 'held' })
    const [{ task, run }] = await claim('holder', { workerVersion: '1.4.0' })
    // The running tasks are read from an index, a little after it was written.
    await expect
      .poll(async () => {
        await system.call('POST', `/v1/tasks/${task.id}/runs/${run.id}/heartbeat`, { fence: run.fence })
        return (await workers()).filter(({ running }) => running > 0).map(({ id }) => id)
      })
      .toEqual(expect.arrayContaining(['holder', 'lambda:probe']))

    const found = await workers()

    expect(found.find(({ id }) => id === 'holder')).toEqual({
      id: 'holder',
      kind: 'http',
      state: 'live',
      version: '1.4.0',
      types: [TYPE],
      running: 1,
      lastSeen: expect.any(String),
    })
    expect(found.find(({ id }) => id === 'lambda:probe')).toEqual({
      id: 'lambda:probe',
      kind: 'lambda',
      state: 'live',
      types: ['probe'],
      running: 1,
    })
  })

  it('costs one write in ten seconds, per process of the API, for a worker that claims all the time', async () => {
    const before = system.cloud.meter.snapshot()
    const begunAt = Date.now()
    for (let i = 0; i < 20; i++) await claim('eager')
    const writesEach = 1 + Math.floor((Date.now() - begunAt) / 10_000)

    const api = system.cloud.functions.find('TasksApiFunction')
    const puts = system.cloud.meter
      .since(before)
      .filter(({ caller, operation }) => caller === api.logicalId && operation === 'PutItem')
    expect(totalOf(puts).writeUnits).toBeLessThanOrEqual(writesEach * api.pids().length)
  })
})
