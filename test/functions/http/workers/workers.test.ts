import { describe, expect, it } from 'vitest'
import { createApi } from '../../../../functions/http/create-api.ts'
import { WORKER_LIFE_MS } from '../../../../shared/core/worker.ts'
import { registerHandlerType } from '../../../../shared/runtime/types/types.ts'
import { sweepWorkers } from '../../../../shared/runtime/worker/worker.ts'
import { ALL_OPERATIONS } from '../../../../shared/service/operations.ts'
import { anApiPerTest, claimed, published } from '../../../support/http/an-api.ts'
import { MINUTE, NOW, SECOND } from '../../../support/tasks/a-task.ts'

const api = anApiPerTest()

const claim = (workerId: string, more: object = {}) =>
  api.call('POST', '/v1/claims', { type: 'jobs', workerId, ...more })
const list = async (query = '') => (await api.call('GET', `/v1/workers${query}`)).body
const iso = (time: number) => new Date(time).toISOString()
/** How often the registry is written. */
const countWrites = () => {
  const { announce } = api.system.workers
  let writes = 0
  Object.assign(api.system.workers, {
    announce: async (worker: Parameters<typeof announce>[0]) => {
      writes += 1
      await announce(worker)
    },
  })
  return () => writes
}

describe('the listed workers', () => {
  it('are the workers that claim, with their version, their types, and how many tasks they run', async () => {
    await api.call('PUT', '/v1/types/other', { kind: 'http' })
    for (const key of ['a', 'b', 'c']) await published(api, { key })

    await claim('w1', { limit: 2, workerVersion: '1.2' })
    await claim('w1', { type: 'other' })
    await claim('w2')

    expect(await list()).toEqual({
      items: [
        {
          id: 'w1',
          kind: 'http',
          state: 'live',
          version: '1.2',
          types: ['jobs', 'other'],
          running: 2,
          lastSeen: iso(NOW),
        },
        { id: 'w2', kind: 'http', state: 'live', types: ['jobs'], running: 1, lastSeen: iso(NOW) },
      ],
    })
  })

  it('have stopped after 30 silent seconds; a heartbeat ends the silence', async () => {
    await published(api)
    const { path, fence } = await claimed(api, { workerId: 'busy' })
    await claim('silent')

    for (let beats = 0; beats < 3; beats++) {
      await api.system.clock.advance(WORKER_LIFE_MS / 3)
      await api.call('POST', `${path}/heartbeat`, { fence })
    }

    expect((await list()).items).toMatchObject([
      { id: 'busy', state: 'live' },
      { id: 'silent', state: 'stopped' },
    ])
  })

  it('are dead when they fall silent, and say that they stop: both for a day, with what they ran', async () => {
    const { workers, clock } = api.system
    const own = { kind: 'standalone', types: ['jobs'], startedAt: NOW, lastSeen: NOW } as const
    await workers.announce({ ...own, workerId: 'dies', running: 1, tasks: ['jobs:a'] })
    await workers.announce({ ...own, workerId: 'drains', draining: true })
    await workers.leave({ ...own, workerId: 'drains', stoppedAt: NOW })
    await workers.announce({ ...own, workerId: 'drains too', lastSeen: NOW + SECOND, draining: true })

    await clock.advance(WORKER_LIFE_MS)
    const before = (await list()).items
    await sweepWorkers(api.system)
    await clock.advance(WORKER_LIFE_MS)
    await sweepWorkers(api.system)

    expect(before).toMatchObject([
      { id: 'dies', state: 'dead', running: 1, tasks: ['jobs:a'], lastSeen: iso(NOW) },
      { id: 'drains', state: 'stopped', stoppedAt: iso(NOW) },
      { id: 'drains too', state: 'draining' },
    ])
    expect(await workers.list()).toEqual([])
    expect((await list()).items).toMatchObject([before[0], before[1], { state: 'dead' }])
    await clock.advance(24 * 60 * MINUTE)
    expect((await list()).items).toEqual([])
  })

  it('include one entry for the Lambda functions of each type with a deployed handler', async () => {
    await registerHandlerType(api.system, 'resize', { kind: 'handler', defaults: {} })

    expect((await list()).items).toEqual([
      { id: 'lambda:resize', kind: 'lambda', state: 'live', types: ['resize'], running: 0 },
    ])
  })

  it('include standalone workers that announce themselves; a type registered for workers has no Lambda entry', async () => {
    await registerHandlerType(
      api.system,
      'resize',
      { kind: 'handler', defaults: {} },
      { servedBy: 'workers' },
    )
    const before = await list()
    const worker = {
      workerId: 'host-1',
      kind: 'standalone',
      state: 'live',
      types: ['resize'],
      running: 7,
    } as const
    await api.system.workers.announce({ ...worker, startedAt: NOW, lastSeen: NOW })

    expect(before.items).toEqual([])
    expect((await list()).items).toEqual([
      { id: 'host-1', kind: 'standalone', state: 'live', types: ['resize'], running: 7, lastSeen: iso(NOW) },
    ])
  })

  it('come in pages', async () => {
    for (const id of ['b', 'ü#/', 'a']) await claim(id)

    const first = await list('?limit=2')
    const second = await list(`?limit=2&cursor=${first.nextCursor}`)

    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(['a', 'b', 'ü#/'])
    expect(second).not.toHaveProperty('nextCursor')
    expect((await api.call('GET', '/v1/workers?cursor=')).status).toBe(400)
    expect((await api.call('GET', '/v1/workers?type=jobs')).status).toBe(400)
  })
})

describe('an announcement of a worker', () => {
  it('is written once in ten seconds, however often the worker claims', async () => {
    const writes = countWrites()

    for (let second = 0; second < 25; second++) {
      await claim('w1')
      await api.system.clock.advance(SECOND)
    }

    expect(writes()).toBe(3)
  })

  it('continues while the worker waits for tasks', async () => {
    const writes = countWrites()

    const waiting = claim('w1', { waitMs: 20_000 })
    for (let second = 0; second < 21; second++) await api.system.clock.advance(SECOND)
    await waiting

    expect(writes()).toBe(2)
  })

  it('adds to the announcements of other API instances, and a type is dropped when no instance renews it', async () => {
    await api.call('PUT', '/v1/types/other', { kind: 'http' })
    const instances = [api.app, createApi(api.system, ALL_OPERATIONS)]
    const types: string[][] = []
    const claimAt = async (instance: number, type: string) => {
      const body = JSON.stringify({ type, workerId: 'w1', ...(instance === 0 && { workerVersion: '1.2' }) })
      const headers = { 'content-type': 'application/json' }
      await instances[instance]?.request('/v1/claims', { method: 'POST', headers, body })
    }

    for (let turn = 0; turn < 8; turn++) {
      await claimAt(0, 'jobs')
      await api.system.clock.advance(5 * SECOND)
      await claimAt(1, 'other')
      types.push((await list()).items[0].types)
      await api.system.clock.advance(6 * SECOND)
    }
    const [both] = (await list()).items
    for (let turn = 0; turn < 4; turn++) {
      await claimAt(1, 'other')
      await api.system.clock.advance(11 * SECOND)
    }

    expect(new Set(types.map(String))).toEqual(new Set(['jobs,other']))
    expect(both).toMatchObject({ version: '1.2' })
    expect((await list()).items[0].types).toEqual(['other'])
  })

  it('that cannot be written does not fail the claim', async () => {
    await published(api)
    Object.assign(api.system.workers, { announce: () => Promise.reject(new Error('no')) })

    expect((await claim('w1')).body.claims).toHaveLength(1)
    expect(api.complaints).toMatchObject([{ message: 'a worker could not be announced' }])
  })

  it('is not written when the type is unknown', async () => {
    await claim('w1', { type: 'nobody-knows' })

    expect((await list()).items).toEqual([])
  })
})
