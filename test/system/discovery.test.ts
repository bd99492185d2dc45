import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type LocalSystem, startLocalSystem } from '../support/local-system.ts'
import { synthesise } from './synthesise.ts'

/** What fell due this long ago without a sign of life, the sweeper sends again. */
const GRACE_MS = 10_500
const EARLIER_ASSEMBLY = '.baton/test-assembly-without-probe'

// biome-ignore lint/suspicious/noExplicitAny: tasks are read as users read them
const succeeded = (task: any) => task.status === 'succeeded'
const keys = (prefix: string) => Array.from({ length: 5 }, (_, i) => `${prefix}-${i}`)

describe('tasks are found', () => {
  let system: LocalSystem
  beforeAll(async () => {
    system = await startLocalSystem()
    await system.call('PUT', '/v1/types/by-http', { kind: 'http' })
  })
  afterAll(() => system?.stop())

  const claimKeys = async (workerId: string, limit = 10) => {
    const { body } = await system.call('POST', '/v1/claims', { type: 'by-http', workerId, limit })
    return body.claims.map(({ task }: { task: { key: string } }) => task.key).sort()
  }

  it('that were published before any worker existed', async () => {
    for (const key of keys('early')) await system.publish({ type: 'by-http', key })

    expect(await claimKeys('first-ever')).toEqual(keys('early'))
  })

  it('that were published while the workers were down', async () => {
    await claimKeys('comes-and-goes')
    for (const key of keys('meanwhile')) await system.publish({ type: 'by-http', key })
    await sleep(1_000)

    expect(await claimKeys('comes-and-goes')).toEqual(keys('meanwhile'))
  })

  it('that were published while the handlers were down', async () => {
    const handlers = system.cloud.mapping('Probe')
    handlers.pause()
    for (const key of keys('paused')) await system.publish({ type: 'probe', key, input: {} })
    await sleep(500)
    const waiting = await system.call('GET', '/v1/types/probe/counts')

    handlers.resume()
    const done = await Promise.all(keys('paused').map(key => system.taskWhen(`probe:${key}`, succeeded)))

    expect(waiting.body).toMatchObject({ ready: 5, succeeded: 0 })
    expect(done.map(({ runs }) => runs.length)).toEqual([1, 1, 1, 1, 1])
  })

  it('after a gap in the stream, by the sweeper: those for handlers, for listed workers, and delayed ones', async () => {
    const planner = system.cloud.mapping('Planner')
    planner.drop(() => true)
    const ids = [
      await system.publish({ type: 'probe', key: 'gap', input: {} }),
      await system.publish({ type: 'probe', key: 'gap-delayed', input: {}, delayMs: 1_000 }),
    ]
    await system.publish({ type: 'by-http', key: 'gap-delayed', delayMs: 1_000 })
    await system.publish({ type: 'by-http', key: 'gap-targeted', workerIds: ['listed'] })
    await sleep(300)
    planner.drop(undefined)
    await sleep(GRACE_MS + 1_000)
    const before = await Promise.all(ids.map(id => system.call('GET', `/v1/tasks/${id}`)))

    await system.cloud.scheduler.fire('Sweep')
    const after = await Promise.all(ids.map(id => system.taskWhen(id, succeeded)))

    expect(before.map(({ body }) => body.status)).toEqual(['ready', 'ready'])
    expect(after.map(({ attempts }) => attempts.used)).toEqual([1, 1])
    await expect.poll(() => claimKeys('listed')).toEqual(['gap-delayed', 'gap-targeted'])
  })

  it('never, when their type was never registered: that is refused, and names the types there are', async () => {
    const { status, body } = await system.call('POST', '/v1/tasks', { type: 'nobody-knows' })

    expect(status).toBe(404)
    expect(JSON.stringify(body)).toContain('word-count')
  })
})

describe('a type whose handler is deployed later', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'baton-discovery-'))
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

  it('has its tasks waiting, visibly; they run once it is', { timeout: 60_000 }, async () => {
    synthesise('test/system/app-without-probe.ts', EARLIER_ASSEMBLY)
    const earlier = await startLocalSystem({ assemblyDir: EARLIER_ASSEMBLY, dataDir })
    await earlier.call('PUT', '/v1/types/probe', { kind: 'handler' })
    const ids = await Promise.all(
      keys('later').map(key => earlier.publish({ type: 'probe', key, input: {} })),
    ).finally(() => sleep(300))
    const waiting = await earlier.call('GET', `/v1/tasks/${ids[0]}`)
    await earlier.stop()

    const later = await startLocalSystem({ dataDir })
    try {
      await sleep(GRACE_MS)
      await later.cloud.scheduler.fire('Sweep')
      const done = await Promise.all(ids.map(id => later.taskWhen(id, succeeded, 20_000)))

      expect(waiting.body).toMatchObject({ status: 'ready', statusReason: 'no-handler' })
      expect(done.map(({ attempts }) => attempts.used)).toEqual([1, 1, 1, 1, 1])
    } finally {
      await later.stop()
    }
  })
})
