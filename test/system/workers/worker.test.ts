import { describe, expect, it } from 'vitest'
import { scaled } from '../../support/scale.ts'
import { aWorkerFleet, hasEnded, statesOf } from '../../support/workers/worker-fleet.ts'

/** Tests standalone workers: one alone, several beside each other, and workers that tasks name. */

const RACED_TASKS = scaled(15, 30)

const { system, aWorker, publishAll, startsOf, hasReported } = aWorkerFleet()

describe('a worker process', () => {
  it('serves types that have no Lambda, under its own name', async () => {
    await aWorker(['--worker-id', 'studio-1'])
    const ids = [
      await system().publish({ type: 'video', key: 'plain', input: { result: 'cut' } }),
      await system().publish({ type: 'clip', key: 'delayed', input: {}, delayMs: 1_400 }),
    ]

    const [plain, delayed] = await Promise.all(ids.map(id => system().taskWhen(id, hasEnded)))

    expect(plain).toMatchObject({ status: 'succeeded', result: 'cut', runs: [{ workerId: 'studio-1' }] })
    expect(delayed.status).toBe('succeeded')
    expect(Date.parse(delayed.startedAt)).toBeGreaterThanOrEqual(Date.parse(delayed.dueAt))
  })

  it('has an automatic name, and retries a failing task until the budget is spent', async () => {
    const { pid } = await aWorker()
    const id = await system().publish({
      type: 'video',
      key: 'hopeless',
      input: { failures: 9 },
      retry: { maxRetries: 3, backoff: 'fixed', delayMs: 100 },
    })

    const task = await system().taskWhen(id, hasEnded)

    expect(task).toMatchObject({ status: 'failed', attempts: { used: 4, left: 0 } })
    expect(statesOf(task)).toEqual(['failed', 'failed', 'failed', 'failed'])
    expect(task.runs[0].workerId).toMatch(new RegExp(`^.+-${pid}-[0-9a-f]{6}$`))
  })

  it('shows why runs fail, in the task and in its own log', async () => {
    const worker = await aWorker()
    const id = await system().publish({
      type: 'video',
      key: 'unreached',
      input: { failures: 1, how: 'fetch' },
    })

    const task = await system().taskWhen(id, hasEnded)

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
    const id = await system().publish({
      type: 'video',
      key: 'interrupted',
      input: { report: system().reportUrl, sleepMs: 600_000 },
    })
    await hasReported('interrupted', 'started')

    worker.signal('SIGTERM')
    const code = await worker.ended
    const task = await system().taskWhen(id, ({ runs }) => runs.length === 1)
    await system().call('POST', `/v1/tasks/${id}/cancel`)

    expect(code).toBe(0)
    expect(task).toMatchObject({ status: 'ready', attempts: { used: 0 } })
    expect(statesOf(task)).toEqual(['released'])
  })
})

describe('several worker processes', () => {
  it('bring one success each to a task that asks for two', async () => {
    await Promise.all([aWorker(['--worker-id', 'a']), aWorker(['--worker-id', 'b'])])
    const id = await system().publish({ type: 'video', key: 'twice', input: {}, concurrency: 2 })

    const task = await system().taskWhen(id, hasEnded)

    expect(task.status).toBe('succeeded')
    expect(statesOf(task)).toEqual(['succeeded', 'succeeded'])
    expect(task.runs.map(({ workerId }: { workerId: string }) => workerId).sort()).toEqual(['a', 'b'])
  })

  it('keep the success of one worker while the other fails and tries again', async () => {
    const statesByWorker = ({ runs }: { runs: Array<{ workerId: string; state: string }> }) =>
      runs.map(({ workerId, state }) => `${workerId} ${state}`)
    await aWorker(['--worker-id', 'able'])
    const id = await system().publish({
      ...{ type: 'video', key: 'half', input: {}, concurrency: 2 },
      retry: { maxRetries: 3, backoff: 'fixed', delayMs: 600_000 },
    })
    await system().taskWhen(id, task => statesByWorker(task).includes('able succeeded'))

    await aWorker(['--worker-id', 'clumsy'], { PROBE_FAILURES: '1' })
    const half = await system().taskWhen(id, ({ runs }) => runs.length > 1 && runs[1].state !== 'running')
    await system().call('PATCH', `/v1/tasks/${id}`, { delayMs: 0 })
    const done = await system().taskWhen(id, hasEnded)

    expect(half).toMatchObject({ status: 'delayed', statusReason: 'retry' })
    expect(statesByWorker(half)).toEqual(['able succeeded', 'clumsy failed'])
    expect(done).toMatchObject({ status: 'succeeded', attempts: { used: 3 } })
    expect(statesByWorker(done)).toEqual(['able succeeded', 'clumsy failed', 'clumsy succeeded'])
  })

  it('that race for the same tasks run each of them once', async () => {
    await Promise.all([aWorker(), aWorker(), aWorker()])
    system().cloud.mapping('Planner').repeat(3)

    const ids = await publishAll(RACED_TASKS, 'raced-', {
      type: 'video',
      input: { report: system().reportUrl },
    })
    const tasks = await Promise.all(ids.map(id => system().taskWhen(id, hasEnded)))
    system().cloud.mapping('Planner').repeat(1)

    expect(tasks.map(statesOf)).toEqual(ids.map(() => ['succeeded']))
    expect(startsOf('raced-')).toHaveLength(RACED_TASKS)
  })
})

describe('tasks for one worker', () => {
  it('wait until that worker starts, although others are there, and go to no other worker', async () => {
    await aWorker(['--worker-id', 'present'])
    const body = { type: 'video', input: {} }
    const ids = await publishAll(5, 'targeted-', { ...body, workerIds: ['late'] })
    const [forAnyone = ''] = await publishAll(1, 'untargeted-', body)
    await system().taskWhen(forAnyone, hasEnded)
    const waiting = await Promise.all(ids.map(id => system().taskWhen(id, () => true)))

    await aWorker(['--worker-id', 'late'])
    const tasks = await Promise.all(ids.map(id => system().taskWhen(id, hasEnded)))

    expect(waiting.map(({ status, runs }) => [status, runs])).toEqual(ids.map(() => ['ready', []]))
    expect(tasks.map(({ runs }) => runs)).toMatchObject(
      ids.map(() => [{ workerId: 'late', state: 'succeeded' }]),
    )
  })
})
