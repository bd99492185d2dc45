import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { aLocalSystem, hasEnded } from '../../support/local-system/local-system.ts'

const SCRIPT = 'examples/python-worker/worker.py'
const TYPE = 'shout'
/** A busy machine does not delay a worker's heartbeat for so long. */
const LEASE_MS = 2_500

const hasPython = spawnSync('python3', ['--version']).status === 0
if (!hasPython) console.warn('python3 is not installed: the worker in Python is not tested')

describe.skipIf(!hasPython)('the worker in Python', () => {
  const system = aLocalSystem()
  const started = new Set<{ worker: ChildProcess; stopped: Promise<unknown> }>()

  beforeAll(async () => {
    const defaults = { leaseMs: LEASE_MS, heartbeatMs: 300, retry: { backoff: 'fixed', delayMs: 100 } }
    await system.call('PUT', `/v1/types/${TYPE}`, { kind: 'http', defaults })
  })
  /** The workers stop gracefully: the API would serve the claim of a killed worker with a task of the next test. */
  afterEach(async () => {
    for (const { worker } of started) worker.kill('SIGTERM')
    await Promise.all([...started].map(({ stopped }) => stopped))
    started.clear()
  })

  function startWorker(environment: Record<string, string> = {}) {
    const worker = spawn('python3', [SCRIPT, TYPE, 'snake'], {
      env: { ...process.env, BATON_URL: system.cloud.apiUrl, ...environment },
      stdio: 'ignore',
    })
    const stopped = once(worker, 'exit').then(([code]) => ({ code }))
    started.add({ worker, stopped })
    return { worker, stopped }
  }

  const publish = (key: string, input: object) => system.publish({ type: TYPE, key, input })

  it('runs several tasks at a time, and keeps long ones by heartbeats', async () => {
    startWorker()
    const ids = [
      await publish('long', { text: 'long', sleepMs: LEASE_MS + 1_000 }),
      await publish('größe:a/b', { text: 'ü' }),
    ]
    for (let n = 0; n < 10; n++) ids.push(await publish(`${n}`, { text: `t${n}` }))

    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded, 20_000)))

    expect(tasks.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'))
    expect(tasks.map(({ runs }) => runs.length)).toEqual(ids.map(() => 1))
    expect(tasks.slice(0, 2).map(({ result }) => result)).toEqual([
      { upper: 'LONG', by: 'python' },
      { upper: 'Ü', by: 'python' },
    ])
  })

  it('reports failures, and fatal ones are not retried', async () => {
    startWorker()
    const retried = await publish('fails', { fail: 'no luck' })
    const fatal = await publish('fatal', { fail: 'never', fatal: true })

    const tasks = await Promise.all([retried, fatal].map(id => system.taskWhen(id, hasEnded, 20_000)))

    expect(tasks[0]).toMatchObject({
      status: 'failed',
      attempts: { used: 4 },
      error: { name: 'RuntimeError' },
    })
    expect(tasks[1]).toMatchObject({ status: 'failed', attempts: { used: 1 }, error: { name: 'Fatal' } })
  })

  it('stops the work on a cancelled task and claims the next one', async () => {
    startWorker({ CONCURRENCY: '1' })
    const id = await publish('cancelled', { sleepMs: 60_000 })
    await system.taskWhen(id, ({ status }) => status === 'running')
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    const next = await publish('next', { text: 'next' })

    expect(await system.taskWhen(next, hasEnded)).toMatchObject({ status: 'succeeded' })
  })

  it('finishes its runs after SIGTERM, and makes no more claims', async () => {
    const { worker, stopped } = startWorker()
    const id = await publish('finishing', { sleepMs: 1_000 })
    await system.taskWhen(id, ({ status }) => status === 'running')

    worker.kill('SIGTERM')
    const { code } = await stopped
    await publish('nobody', {})

    expect(code).toBe(0)
    expect((await system.call('GET', `/v1/tasks/${id}`)).body).toMatchObject({ status: 'succeeded' })
    expect((await system.call('GET', `/v1/tasks/${TYPE}:nobody`)).body.status).toBe('ready')
  })

  it('releases runs that it cannot finish in time, and no retry is counted', async () => {
    const { worker, stopped } = startWorker({ GRACE_S: '0.3' })
    const id = await publish('given-back', { sleepMs: 60_000 })
    await system.taskWhen(id, ({ status }) => status === 'running')

    worker.kill('SIGTERM')
    await stopped
    const { status, attempts, runs } = (await system.call('GET', `/v1/tasks/${id}`)).body

    expect({ status, used: attempts.used }).toEqual({ status: 'ready', used: 0 })
    expect(runs).toMatchObject([{ state: 'released' }])
  })
})
