import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../../shared/api/endpoints.ts'
import { STATUS_REASONS } from '../../../../shared/core/states.ts'
import type { StatusReason } from '../../../../shared/core/status.ts'
import { registerHandlerType } from '../../../../shared/runtime/types/types.ts'
import { anApi, anApiPerTest, claimed, published, reported } from '../../../support/http/an-api.ts'
import { timed } from '../../../support/worlds/memory-system.ts'

const api = anApiPerTest()

const HANDLER = { kind: 'handler', defaults: {} } as const
const FAR = '2026-06-01T00:00:00.000Z'

/** Makes a worker known to the system: the worker asks for tasks and finds none that it may claim. */
const announce = (workerId: string, more: object = {}) =>
  api.call('POST', '/v1/claims', { type: 'jobs', workerId, ...more })

/** Returns once no process has the old type in its cache. */
const put = (configuration: object) =>
  timed(api.system, api.call('PUT', '/v1/types/jobs', { kind: 'http', ...configuration }))
const pause = (type: string, word = 'pause') =>
  timed(api.system, api.call('POST', `/v1/types/${type}/${word}`))

/** Makes a task that waits for each reason, and returns its id. */
const WAITS: Readonly<Record<StatusReason, () => Promise<string>>> = {
  due: () => published(api, { dueAt: FAR }),
  retry: async () => {
    await published(api, { retry: { delayMs: 60_000 } })
    return (await reported(api, 'fail')).id
  },
  'type-not-allowed': async () => {
    await api.call('PUT', '/v1/types/hook', { kind: 'webhook', webhook: { url: 'https://example.com' } })
    const id = await published(api, { type: 'hook' })
    await timed(api.system, api.call('PUT', '/v1/types/hook', { kind: 'http' }))
    return id
  },
  paused: async () => {
    const id = await published(api)
    await pause('jobs')
    return id
  },
  'rate-limit': async () => {
    await put({ limits: { rate: { limit: 1, perMs: 60_000 } } })
    await published(api)
    await timed(api.system, claimed(api))
    return published(api)
  },
  'concurrency-limit': async () => {
    await put({ limits: { concurrency: { max: 1 } } })
    await published(api)
    await timed(api.system, claimed(api))
    const id = await published(api)
    await timed(api.system, announce('w2'))
    return id
  },
  'target-worker': async () => {
    await announce('w1')
    return published(api, { workerIds: ['w1'] })
  },
  'no-handler': () => published(api, { type: 'resize' }),
  'no-worker': () => published(api),
  'callbacks-owed': async () => {
    await published(api, { onSuccess: [{ type: 'jobs' }] })
    return (await reported(api, 'succeed')).id
  },
}

/** Returns the reason that `GET` shows after the caches of a second have expired. A list must show the same reason. */
async function reasonOf(id: string): Promise<string | undefined> {
  await api.system.clock.advance(1_001)
  const { body } = await api.call('GET', pathOf('get', id))
  const page = await api.call('GET', `/v1/tasks?type=${body.type}&limit=100`)
  const listed = page.body.items.find((one: { id: string }) => one.id === id)
  expect([listed.status, listed.statusReason]).toEqual([body.status, body.statusReason])
  return body.statusReason
}

describe('a waiting task shows its reason, in GET and in lists', () => {
  it.each(STATUS_REASONS)('%s', async reason => {
    expect(await reasonOf(await WAITS[reason]())).toBe(reason)
  })

  it('and shows none while a live worker can take it', async () => {
    await announce('w1')
    expect(await reasonOf(await published(api))).toBeUndefined()

    await registerHandlerType(api.system, 'resize', HANDLER)
    expect(await reasonOf(await published(api, { type: 'resize' }))).toBeUndefined()
  })
})

describe('no-worker', () => {
  it('is the reason of a type over HTTP when its last worker has been silent for 30 seconds', async () => {
    await announce('w1')
    const id = await published(api)
    expect(await reasonOf(id)).toBeUndefined()

    await api.system.clock.advance(30_000)

    expect(await reasonOf(id)).toBe('no-worker')
  })

  it('is the reason of a type that workers serve until a worker of this type is alive', async () => {
    await registerHandlerType(api.system, 'resize', HANDLER, { servedBy: 'workers' })
    const id = await published(api, { type: 'resize' })
    const announceFor = (type: string) => {
      const now = api.system.clock.now()
      const worker = { workerId: 'host-1', kind: 'standalone', startedAt: now, lastSeen: now } as const
      return api.system.workers.announce({ ...worker, types: [type] })
    }

    await announceFor('crop')
    expect(await reasonOf(id)).toBe('no-worker')
    await announceFor('resize')

    expect(await reasonOf(id)).toBeUndefined()
  })

  it('is the reason when the version of each worker over HTTP is below minWorkerVersion', async () => {
    await announce('old', { workerVersion: '1.9' })
    const id = await published(api, { minWorkerVersion: '2' })
    expect(await reasonOf(id)).toBe('no-worker')

    await announce('new', { workerVersion: '2.0.1' })

    expect((await api.call('GET', pathOf('get', id))).body.status).toBe('running')
  })

  it.each<[string | undefined, string | undefined]>([
    [undefined, 'no-worker'],
    ['1.9', 'no-worker'],
    ['2.0', undefined],
  ])('for a Lambda handler of version %s, when a task asks for version 2: %s', async (version, reason) => {
    await registerHandlerType(api.system, 'resize', HANDLER, { version })

    expect(await reasonOf(await published(api, { type: 'resize', minWorkerVersion: '2' }))).toBe(reason)
    const { body } = await api.call('GET', '/v1/workers')
    expect(body.items.find((one: { id: string }) => one.id === 'lambda:resize').version).toBe(version)
  })
})

describe('a flow shows why its step waits', () => {
  const flow = async (type: string) => {
    await api.call('PUT', '/v1/types/order', { kind: 'flow', steps: [{ name: 'a', do: { type } }] })
    return published(api, { type: 'order', key: type })
  }

  it('when nothing is deployed for its type', async () => {
    expect(await reasonOf(await flow('resize'))).toBe('no-handler')
  })

  it('when no worker claims its type', async () => {
    expect(await reasonOf(await flow('jobs'))).toBe('no-worker')
  })

  it('when its type or the flow is paused', async () => {
    const id = await flow('jobs')
    await announce('w1')
    const other = await published(api, { type: 'order', key: 'other' })
    await pause('jobs')
    expect(await reasonOf(other)).toBe('paused')

    await pause('jobs', 'resume')
    await pause('order')

    expect(await reasonOf(other)).toBe('paused')
    expect((await api.call('GET', pathOf('get', id))).body.status).toBe('running')
  })
})

it('A page reads each type once and the workers once, however many tasks it shows', async () => {
  await put({})
  for (let nth = 0; nth < 30; nth++) await published(api)
  const reads: string[] = []
  const { types, workers } = api.system
  const counted = await anApi({
    ...api.system,
    types: {
      ...types,
      get: name => {
        reads.push(`type ${name}`)
        return types.get(name)
      },
    },
    workers: {
      ...workers,
      list: () => {
        reads.push('workers')
        return workers.list()
      },
    },
  })
  reads.length = 0
  await api.system.clock.advance(5_000)

  const { body } = await counted.call('GET', '/v1/tasks?type=jobs&limit=30')

  expect(body.items).toHaveLength(30)
  expect(body.items.every((one: { statusReason?: string }) => one.statusReason === 'no-worker')).toBe(true)
  expect(reads.sort()).toEqual(['type jobs', 'type jobs', 'workers'])
})
