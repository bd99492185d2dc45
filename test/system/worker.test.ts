import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { type LocalSystem, startLocalSystem } from '../support/local-system.ts'
import { startWorker, type WorkerProcess } from '../support/worker-process.ts'

let system: LocalSystem
const workers = new Set<WorkerProcess>()

beforeAll(async () => {
  system = await startLocalSystem()
})

afterEach(async () => {
  for (const worker of workers) worker.signal('SIGKILL')
  await Promise.all([...workers].map(({ ended }) => ended))
  workers.clear()
})

afterAll(() => system?.stop())

async function aWorker(
  ...args: Parameters<typeof startWorker> extends [unknown, ...infer Rest] ? Rest : never
) {
  const worker = await startWorker(system, ...args)
  workers.add(worker)
  return worker
}

// biome-ignore lint/suspicious/noExplicitAny: tasks are read as users read them
const ended = (task: any) => ['succeeded', 'failed', 'cancelled'].includes(task.status)
const startsOf = (prefix: string) =>
  system.reports.filter(({ event, key }) => event === 'started' && key.startsWith(prefix))
const statesOf = (task: { runs: Array<{ state: string }> }) => task.runs.map(({ state }) => state)

async function publishAll(count: number, prefix: string, body: Readonly<Record<string, unknown>>) {
  const tasks = Array.from({ length: count }, (_, i) => ({ ...body, key: `${prefix}${i}` }))
  for (let start = 0; start < count; start += 100) {
    const { status } = await system.call('POST', '/v1/tasks', { tasks: tasks.slice(start, start + 100) })
    expect(status).toBe(200)
  }
  return tasks.map(({ key }) => `${body.type}:${key}`)
}

async function counts(type: string): Promise<{ open: number }> {
  const { body } = await system.call('GET', `/v1/types/${type}/counts`)
  return { open: body.delayed + body.ready + body.running }
}

/** A figure for docs/measured.md, shown on request. */
function measured(what: string, ms: number): void {
  if (process.env.MEASURE) console.log(`measured: ${what}: ${(ms / 1_000).toFixed(2)} s`)
}

describe('a worker process', () => {
  it('serves types that have no Lambda, under its own name', async () => {
    await aWorker(['--worker-id', 'studio-1'])
    const ids = [
      await system.publish({ type: 'video', key: 'plain', input: { result: 'cut' } }),
      await system.publish({ type: 'clip', key: 'delayed', input: {}, delayMs: 1_400 }),
    ]

    const [plain, delayed] = await Promise.all(ids.map(id => system.taskWhen(id, ended)))

    expect(plain).toMatchObject({ status: 'succeeded', result: 'cut', runs: [{ workerId: 'studio-1' }] })
    expect(delayed.status).toBe('succeeded')
    const lateness = Date.parse(delayed.startedAt) - Date.parse(delayed.dueAt)
    expect(lateness).toBeGreaterThanOrEqual(0)
    expect(lateness).toBeLessThanOrEqual(200)
  })

  it('has an automatic name, and runs a task that fails as often as its budget says', async () => {
    const { pid } = await aWorker()
    const id = await system.publish({
      type: 'clip',
      key: 'hopeless',
      input: { failures: 9 },
      retry: { maxRetries: 3, backoff: 'fixed', delayMs: 100 },
    })

    const task = await system.taskWhen(id, ended)

    expect(task).toMatchObject({ status: 'failed', attempts: { used: 4, left: 0 } })
    expect(statesOf(task)).toEqual(['failed', 'failed', 'failed', 'failed'])
    expect(task.runs[0].workerId).toMatch(new RegExp(`^.+-${pid}-[0-9a-f]{6}$`))
  })

  it('that stops by a signal leaves nothing running and ends with code 0', async () => {
    const worker = await aWorker(['--drain-ms', '200'])
    const id = await system.publish({
      type: 'clip',
      key: 'interrupted',
      input: { report: system.reportUrl, sleepMs: 60_000 },
    })
    await system.reportWhen(({ key, event }) => key === 'interrupted' && event === 'started')

    worker.signal('SIGTERM')
    const code = await worker.ended
    const task = await system.taskWhen(id, ({ runs }) => runs.length === 1)
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    expect(code).toBe(0)
    expect(task).toMatchObject({ status: 'ready', attempts: { used: 0 } })
    expect(statesOf(task)).toEqual(['released'])
  })
})

describe('a handler that leaves a mess', () => {
  it('of rejected promises does not end its worker', async () => {
    const { pid } = await aWorker()
    const id = await system.publish({ type: 'clip', key: 'stray', input: { failures: 1, how: 'stray' } })

    const task = await system.taskWhen(id, ended)

    expect(task).toMatchObject({ status: 'succeeded', result: { pid } })
    expect(statesOf(task)).toEqual(['failed', 'succeeded'])
  })

  it('of errors that nobody catches ends its worker, after the runs beside it', async () => {
    const worker = await aWorker()
    const beside = await system.publish({
      type: 'clip',
      key: 'beside-uncaught',
      input: { report: system.reportUrl, sleepMs: 1_500 },
    })
    await system.reportWhen(({ key, event }) => key === 'beside-uncaught' && event === 'started')

    const id = await system.publish({
      type: 'clip',
      key: 'uncaught',
      input: { failures: 1, how: 'uncaught' },
    })
    const code = await worker.ended
    const other = await system.taskWhen(beside, ended)
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    expect(code).toBe(1)
    expect(other).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
  })
})

describe('several worker processes', () => {
  it('give a task that asks for two successes one each', async () => {
    await Promise.all([aWorker(['--worker-id', 'a']), aWorker(['--worker-id', 'b'])])
    const id = await system.publish({ type: 'clip', key: 'twice', input: {}, concurrency: 2 })

    const task = await system.taskWhen(id, ended, 20_000)

    expect(task.status).toBe('succeeded')
    expect(statesOf(task)).toEqual(['succeeded', 'succeeded'])
    expect(task.runs.map(({ workerId }: { workerId: string }) => workerId).sort()).toEqual(['a', 'b'])
  })

  it('that race for one slot run its task once', async () => {
    await Promise.all([aWorker(), aWorker(), aWorker()])
    system.cloud.mapping('Planner').repeat(3)

    const ids = await publishAll(30, 'raced-', { type: 'clip', input: { report: system.reportUrl } })
    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, ended, 20_000)))
    system.cloud.mapping('Planner').repeat(1)

    expect(tasks.map(statesOf)).toEqual(ids.map(() => ['succeeded']))
    expect(startsOf('raced-')).toHaveLength(30)
  })

  it('are restarted one after the other, and every task is done without a retry', async () => {
    const args = ['--concurrency', '10', '--drain-ms', '500']
    let [oldest, youngest] = await Promise.all([aWorker(args), aWorker(args)])
    const begunAt = Date.now()
    const short = await publishAll(480, 'rolling-', { type: 'clip', input: { sleepMs: 100 } })
    const long = await publishAll(20, 'rolling-long-', { type: 'clip', input: { sleepMs: 2_500 } })

    const stops: number[] = []
    for (let round = 0; round < 3; round++) {
      await sleep(400)
      const stoppedAt = Date.now()
      oldest.signal('SIGTERM')
      const [code, next] = await Promise.all([oldest.ended, aWorker(args)])
      expect(code).toBe(0)
      stops.push(Date.now() - stoppedAt)
      ;[oldest, youngest] = [youngest, next]
    }
    await expect.poll(async () => (await counts('clip')).open, { timeout: 60_000, interval: 100 }).toBe(0)
    measured('500 tasks over three rolling restarts', Date.now() - begunAt)
    const tasks = []
    for (const id of [...short, ...long]) tasks.push(await system.taskWhen(id, ended, 0))
    measured('longest restart of a worker', Math.max(...stops))

    expect(new Set(tasks.map(({ status }) => status))).toEqual(new Set(['succeeded']))
    expect(new Set(tasks.map(({ attempts }) => attempts.used))).toEqual(new Set([1]))
    const states = new Set(tasks.flatMap(statesOf))
    expect([...states].filter(state => state !== 'succeeded' && state !== 'released')).toEqual([])
  }, 90_000)
})

describe('a worker process that dies', () => {
  it('at default settings: each of its 20 tasks runs again elsewhere within 17 s', async () => {
    const doomed = await aWorker(['--concurrency', '20'])
    const input = { report: system.reportUrl, sleepMs: 120_000 }
    const ids = await publishAll(20, 'orphan-', { type: 'video', input })
    await expect.poll(() => startsOf('orphan-').length, { timeout: 10_000 }).toBe(20)
    const heir = await aWorker(['--concurrency', '20'])
    await sleep(2_000)

    doomed.signal('SIGKILL')
    const killedAt = Date.now()
    await expect.poll(() => startsOf('orphan-').length, { timeout: 25_000 }).toBe(40)
    const again = startsOf('orphan-').filter(({ attempt }) => attempt === 2)
    await Promise.all(ids.map(id => system.call('POST', `/v1/tasks/${id}/cancel`)))
    const takeovers = again.map(({ at }) => at - killedAt).sort((a, b) => a - b)
    measured('takeover of 20 tasks, first', takeovers[0] ?? 0)
    measured('takeover of 20 tasks, last', takeovers.at(-1) ?? 0)

    expect(again.map(({ pid }) => pid)).toEqual(ids.map(() => heir.pid))
    expect(takeovers.at(-1)).toBeLessThanOrEqual(17_000)
  }, 60_000)

  it('and comes back from a long sleep can write nothing for the runs it lost', async () => {
    const sleeper = await aWorker()
    const id = await system.publish({
      type: 'clip',
      key: 'overslept',
      input: { report: system.reportUrl, sleepMs: 1_500, ignoreSignal: true },
    })
    await system.reportWhen(({ key, event }) => key === 'overslept' && event === 'started')
    sleeper.signal('SIGSTOP')
    const heir = await aWorker()
    const done = await system.taskWhen(id, ended, 15_000)

    sleeper.signal('SIGCONT')
    const late = await system.reportWhen(
      ({ key, event, pid }) => key === 'overslept' && event === 'done' && pid === sleeper.pid,
    )
    await sleep(1_000)
    const after = (await system.call('GET', `/v1/tasks/${id}`)).body

    expect(late.fence).toBe(1)
    expect(done).toMatchObject({ status: 'succeeded', result: { attempt: 2, pid: heir.pid } })
    expect(statesOf(done)).toEqual(['lost', 'succeeded'])
    expect(after).toEqual(done)
  })
})

describe('a task for one worker', () => {
  it('goes to that worker and to no other', async () => {
    await Promise.all([aWorker(['--worker-id', 'left']), aWorker(['--worker-id', 'right'])])

    const ids = await publishAll(5, 'targeted-', { type: 'clip', input: {}, workerIds: ['right'] })
    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, ended)))

    expect(tasks.map(({ runs }) => runs[0].workerId)).toEqual(ids.map(() => 'right'))
  })
})

describe('an isolated run', () => {
  it.each([
    ['exits', 'exit', /ended with exit code 1/],
    ['runs out of memory', 'memory', /was ended by SIGABRT|ended with exit code/],
  ])('whose handler %s fails, and nothing else does', async (_name, how, message) => {
    await aWorker(['--isolate', '--concurrency', '4'], { NODE_OPTIONS: '--max-old-space-size=96' })
    const bystander = await system.publish({
      type: 'clip',
      key: `beside-${how}`,
      input: { report: system.reportUrl, sleepMs: 3_000 },
    })
    await system.reportWhen(({ key, event }) => key === `beside-${how}` && event === 'started')

    const id = await system.publish({ type: 'clip', key: `blown-${how}`, input: { failures: 1, how } })
    const task = await system.taskWhen(id, ended, 15_000)
    const other = await system.taskWhen(bystander, ended, 15_000)

    expect(task).toMatchObject({ status: 'succeeded', attempts: { used: 2 } })
    expect(statesOf(task)).toEqual(['failed', 'succeeded'])
    expect(task.runs[0].error).toMatchObject({
      name: 'ProcessDied',
      message: expect.stringMatching(message),
    })
    expect(other).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
  })

  it('that does not heed its signal is killed five seconds after it', async () => {
    await aWorker(['--isolate'])
    const id = await system.publish({
      type: 'clip',
      key: 'deaf',
      input: { report: system.reportUrl, sleepMs: 60_000, ignoreSignal: true },
    })
    const { pid } = await system.reportWhen(({ key, event }) => key === 'deaf' && event === 'started')

    await system.call('POST', `/v1/tasks/${id}/cancel`)
    const cancelledAt = Date.now()
    await sleep(3_000)
    const aliveAfter3s = isAlive(pid)
    await expect.poll(() => isAlive(pid), { timeout: 6_000 }).toBe(false)

    expect(aliveAfter3s).toBe(true)
    expect(Date.now() - cancelledAt).toBeLessThanOrEqual(7_000)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
