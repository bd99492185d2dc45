import { describe, expect, it } from 'vitest'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { aWorkerFleet, statesOf } from '../../support/workers/worker-fleet.ts'

/** Tests one standalone worker. `several-workers.slow.test.ts` tests several of them at the same time. */

const { system, aWorker, hasReported } = aWorkerFleet()

describe('a worker process', () => {
  it('serves types that have no Lambda, under its own name; no task starts early, there or in Lambda', async () => {
    await aWorker(['--worker-id', 'studio-1'])
    const ids = [
      await system.publish({ type: 'video', key: 'plain', input: { result: 'cut' } }),
      await system.publish({ type: 'clip', key: 'delayed', input: {}, delayMs: 1_400 }),
      await system.publish({ type: 'probe', key: 'delayed', input: {}, delayMs: 1_400 }),
    ]

    const [plain, ...delayed] = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded)))

    expect(plain).toMatchObject({ status: 'succeeded', result: 'cut', runs: [{ workerId: 'studio-1' }] })
    for (const { status, startedAt, dueAt } of delayed) {
      expect(status).toBe('succeeded')
      expect(Date.parse(startedAt)).toBeGreaterThanOrEqual(Date.parse(dueAt))
    }
  })

  it('has an automatic name, and retries a failing task until the budget is spent', async () => {
    const { pid } = await aWorker()
    const id = await system.publish({
      type: 'video',
      key: 'hopeless',
      input: { failures: 9 },
      retry: { maxRetries: 3, backoff: 'fixed', delayMs: 100 },
    })

    const task = await system.taskWhen(id, hasEnded)

    expect(task).toMatchObject({ status: 'failed', attempts: { used: 4, left: 0 } })
    expect(statesOf(task)).toEqual(['failed', 'failed', 'failed', 'failed'])
    expect(task.runs[0].workerId).toMatch(new RegExp(`^.+-${pid}-[0-9a-f]{6}$`))
  })

  it('shows why runs fail, in the task and in its own log', async () => {
    const worker = await aWorker()
    const id = await system.publish({
      type: 'video',
      key: 'unreached',
      input: { failures: 1, how: 'fetch' },
    })

    const task = await system.taskWhen(id, hasEnded)

    const cause = { name: 'Error', message: 'connect ECONNREFUSED 127.0.0.1:65533' }
    expect(task.runs[0]).toMatchObject({
      error: { causes: [cause] },
      log: expect.stringContaining('about to fail'),
    })
    const logged = () => worker.lines.flatMap(line => (line.startsWith('{') ? [JSON.parse(line)] : []))
    await expect
      .poll(() => logged().filter(({ taskId }) => taskId === id))
      .toMatchObject([
        { level: 'INFO', message: 'about to fail' },
        { level: 'WARN', message: 'run failed', error: { causes: [cause] }, nextTry: expect.any(String) },
        { level: 'INFO', message: 'run succeeded' },
      ])
  })

  it('that a signal stops releases its runs and ends with code 0', async () => {
    const worker = await aWorker(['--drain-ms', '200'])
    const id = await system.publish({
      type: 'video',
      key: 'interrupted',
      input: { report: system.reportUrl, sleepMs: 600_000 },
    })
    await hasReported('interrupted', 'started')

    worker.signal('SIGTERM')
    const code = await worker.ended
    const task = await system.taskWhen(id, ({ runs }) => runs.length === 1)
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    expect(code).toBe(0)
    expect(task).toMatchObject({ status: 'ready', attempts: { used: 0 } })
    expect(statesOf(task)).toEqual(['released'])
  })
})
