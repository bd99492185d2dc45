import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { aFolder } from '../../support/a-folder.ts'
import { aLocalSystem, startLocalSystem } from '../../support/local-system/local-system.ts'
import { aShiftedClock } from '../../support/local-system/shifted-clock.ts'
import { synthesise } from '../synthesise.ts'

/** The sweeper sends a dispatch again for a task that fell due this long ago and shows no sign of life. */
const GRACE_MS = 10_500

// biome-ignore lint/suspicious/noExplicitAny: tasks are read as users read them
const succeeded = (task: any) => task.status === 'succeeded'
const keys = (prefix: string) => Array.from({ length: 5 }, (_, i) => `${prefix}-${i}`)

describe('tasks are found', () => {
  const clock = aShiftedClock()
  const system = aLocalSystem({ environment: clock.environment })
  beforeAll(async () => {
    // The regular sweep would repair tasks before a test does so.
    system.cloud.scheduler.disable('Sweep')
    await system.call('PUT', '/v1/types/by-http', { kind: 'http' })
  })

  /** Claims until it has `count` tasks, and returns their keys. One claim returns what it finds and does not wait for the rest. */
  const claimKeys = async (workerId: string, count: number, type = 'by-http') => {
    const claimed: string[] = []
    while (claimed.length < count) {
      const wanted = { type, workerId, limit: 10, waitMs: 5_000 }
      const { status, body } = await system.call('POST', '/v1/claims', wanted)
      expect(status, JSON.stringify(body)).toBe(200)
      if (body.claims.length === 0) break
      claimed.push(...body.claims.map(({ task }: { task: { key: string } }) => task.key))
    }
    return claimed.sort()
  }

  it('that were published before any worker existed', async () => {
    for (const key of keys('early')) await system.publish({ type: 'by-http', key })

    expect(await claimKeys('first-ever', 5)).toEqual(keys('early'))
  })

  it('that were published while the workers were down', async () => {
    await system.call('POST', '/v1/claims', { type: 'by-http', workerId: 'comes-and-goes' })
    for (const key of keys('meanwhile')) await system.publish({ type: 'by-http', key })

    expect(await claimKeys('comes-and-goes', 5)).toEqual(keys('meanwhile'))
  })

  it('that were published while the handlers were down', async () => {
    const handlers = system.cloud.mapping('Probe')
    handlers.pause()
    for (const key of keys('paused')) await system.publish({ type: 'probe', key, input: {} })
    const counts = async () => (await system.call('GET', '/v1/types/probe/counts')).body
    await expect.poll(counts).toMatchObject({ ready: 5, succeeded: 0 })

    handlers.resume()
    const done = await Promise.all(keys('paused').map(key => system.taskWhen(`probe:${key}`, succeeded)))

    expect(done.map(({ runs }) => runs.length)).toEqual([1, 1, 1, 1, 1])
  })

  /** This test has a type of its own, because the leases of tasks that other tests claimed end meanwhile. */
  it('by the sweeper, after a gap in the stream (tasks for handlers, for listed workers, and delayed ones) or a lost dispatch', async () => {
    await system.call('PUT', '/v1/types/gap-http', { kind: 'http' })
    const gap = gapInStream()
    const ids = [
      await system.publish({ type: 'probe', key: 'gap', input: {} }),
      await system.publish({ type: 'probe', key: 'gap-delayed', input: {}, delayMs: 1_000 }),
    ]
    const listed = [
      await system.publish({ type: 'gap-http', key: 'gap-delayed', delayMs: 1_000 }),
      await system.publish({ type: 'gap-http', key: 'gap-targeted', workerIds: ['listed'] }),
    ]
    await gap.endAfter([...ids, ...listed])
    let dropped = 0
    system.cloud.faults.add({
      service: 'sqs',
      operation: 'SendMessageBatch',
      matches: body => {
        const isDispatch = String(body.QueueUrl).endsWith('-q-probe')
        dropped += isDispatch ? 1 : 0
        return isDispatch
      },
      action: 'drop',
      times: 1,
    })
    ids.push(await system.publish({ type: 'probe', key: 'dropped', input: {} }))
    await expect.poll(() => dropped).toBe(1)
    await Promise.all(ids.map(id => system.taskWhen(id, ({ status }) => status === 'ready')))
    clock.moveTo(clock.now() + GRACE_MS)
    const before = await Promise.all(ids.map(id => system.call('GET', `/v1/tasks/${id}`)))

    await system.cloud.scheduler.fire('Sweep')
    const after = await Promise.all(ids.map(id => system.taskWhen(id, succeeded)))

    expect(before.map(({ body }) => body.status)).toEqual(['ready', 'ready', 'ready'])
    expect(after.map(({ attempts }) => attempts.used)).toEqual([1, 1, 1])
    expect(await claimKeys('listed', 2, 'gap-http')).toEqual(['gap-delayed', 'gap-targeted'])
  })

  /** Withholds the stream from the planner, until `endAfter` sees that the planner has missed these tasks. */
  function gapInStream() {
    const planner = system.cloud.mapping('Planner')
    let missed = ''
    planner.drop(records => {
      missed += JSON.stringify(records)
      return true
    })
    const endAfter = async (ids: readonly string[]) => {
      await expect.poll(() => ids.filter(id => !missed.includes(id))).toEqual([])
      planner.drop(undefined)
    }
    return { endAfter }
  }
})

describe('a type whose handler is deployed later', () => {
  const folder = aFolder()
  const dataDir = join(folder, 'data')
  const earlierAssembly = join(folder, 'assembly')

  it('has tasks that wait with the reason `no-handler`, and that run after the deployment', async () => {
    await synthesise('test/system/app-without-probe.ts', earlierAssembly)
    const clock = aShiftedClock()
    const { environment } = clock
    const earlier = await startLocalSystem({ assemblyDir: earlierAssembly, dataDir, environment })
    await earlier.call('PUT', '/v1/types/probe', { kind: 'handler' })
    const ids = await Promise.all(
      keys('later').map(key => earlier.publish({ type: 'probe', key, input: {} })),
    )
    const isWaiting = ({ statusReason }: { readonly statusReason?: string }) => statusReason === 'no-handler'
    const waiting = await earlier.taskWhen(ids[0] ?? '', isWaiting)
    await earlier.stop()

    const later = await startLocalSystem({ dataDir, environment })
    try {
      clock.moveTo(clock.now() + GRACE_MS)
      await later.cloud.scheduler.fire('Sweep')
      const done = await Promise.all(ids.map(id => later.taskWhen(id, succeeded, 20_000)))

      expect(waiting).toMatchObject({ status: 'ready', statusReason: 'no-handler' })
      expect(done.map(({ attempts }) => attempts.used)).toEqual([1, 1, 1, 1, 1])
    } finally {
      await later.stop()
    }
  })
})
