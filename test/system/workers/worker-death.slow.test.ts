import { describe, expect, it } from 'vitest'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { aWorkerFleet, statesOf } from '../../support/workers/worker-fleet.ts'

/** Tests handlers that harm their worker process, runs whose process dies, and isolated runs. */

const { system, aWorker, hasReported } = aWorkerFleet()

describe('a handler', () => {
  it('that leaves a rejected promise does not end its worker', async () => {
    const { pid } = await aWorker()
    const id = await system.publish({ type: 'video', key: 'stray', input: { failures: 1, how: 'stray' } })

    const task = await system.taskWhen(id, hasEnded)

    expect(task).toMatchObject({ status: 'succeeded', result: { pid } })
    expect(statesOf(task)).toEqual(['failed', 'succeeded'])
  })

  it('that leaves an uncaught error ends its worker, after the other runs have finished', async () => {
    const worker = await aWorker()
    const beside = await system.publish({
      type: 'video',
      key: 'beside-uncaught',
      input: { report: system.reportUrl, sleepMs: 1_500 },
    })
    await hasReported('beside-uncaught', 'started')

    const id = await system.publish({
      type: 'video',
      key: 'uncaught',
      input: { failures: 1, how: 'uncaught' },
    })
    const code = await worker.ended
    const other = await system.taskWhen(beside, hasEnded)
    await system.call('POST', `/v1/tasks/${id}/cancel`)

    expect(code).toBe(1)
    expect(other).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
  })

  it('that ends every worker process fails its task when the budget is spent, and the next worker lives', async () => {
    const workers = await Promise.all([aWorker(), aWorker(), aWorker(), aWorker()])
    const id = await system.publish({
      ...{ type: 'clip', key: 'deadly', input: { failures: 9, how: 'exit' } },
      ...{ leaseMs: 1_500, heartbeatMs: 500 },
      retry: { maxRetries: 2, backoff: 'fixed', delayMs: 0 },
    })

    const task = await system.taskWhen(id, hasEnded, 40_000)
    const codes = await Promise.all(workers.map(({ ended }) => Promise.race([ended, 'lives'])))

    expect(task).toMatchObject({ status: 'failed', attempts: { used: 3, left: 0 } })
    expect(statesOf(task)).toEqual(['lost', 'lost', 'lost'])
    expect(codes.sort()).toEqual([1, 1, 1, 'lives'])
  }, 60_000)
})

describe('a worker process that is suspended', () => {
  it('for longer than its lease cannot write or publish for the runs that it lost', async () => {
    const sleeper = await aWorker()
    const id = await system.publish({
      ...{ type: 'clip', key: 'overslept', leaseMs: 4_000, heartbeatMs: 1_000 },
      input: { report: system.reportUrl, sleepMs: 1_500, ignoreSignal: true, child: 'overslept-child' },
    })
    await hasReported('overslept', 'started')
    sleeper.signal('SIGSTOP')
    const heir = await aWorker()
    const done = await system.taskWhen(id, hasEnded, 20_000)

    sleeper.signal('SIGCONT')
    const late = await system.reportWhen(
      ({ key, event, pid }) => key === 'overslept' && event === 'done' && pid === sleeper.pid,
    )
    // It gives its runs their time to write, and ends.
    sleeper.signal('SIGTERM')
    await sleeper.ended
    const after = (await system.call('GET', `/v1/tasks/${id}`)).body
    const fences: number[] = done.runs.map(({ fence }: { fence: number }) => fence)
    const children = fences.map(fence => `clip:overslept-child-${fence}`)
    const answers = await Promise.all(children.map(child => system.call('GET', `/v1/tasks/${child}`)))

    expect(late.fence).toBe(fences[0])
    expect(done).toMatchObject({ status: 'succeeded', result: { attempt: 2, pid: heir.pid } })
    expect(statesOf(done)).toEqual(['lost', 'succeeded'])
    expect(after).toEqual(done)
    expect(answers.map(({ status }) => status)).toEqual([404, 200])
  })
})

describe('an isolated run', () => {
  it.each([
    ['exits', 'exit', /ended with exit code 1/],
    ['runs out of memory', 'memory', /was ended by SIGABRT|ended with exit code/],
  ])('whose handler %s fails, and the runs next to it succeed', async (_name, how, message) => {
    await aWorker(['--isolate', '--concurrency', '4'], { NODE_OPTIONS: '--max-old-space-size=96' })
    const bystander = await system.publish({
      type: 'video',
      key: `beside-${how}`,
      input: { report: system.reportUrl, sleepMs: 3_000 },
    })
    await hasReported(`beside-${how}`, 'started')

    const id = await system.publish({ type: 'video', key: `blown-${how}`, input: { failures: 1, how } })
    const task = await system.taskWhen(id, hasEnded, 20_000)
    const other = await system.taskWhen(bystander, hasEnded, 20_000)

    expect(statesOf(task)).toEqual(['failed', 'succeeded'])
    expect(task).toMatchObject({ status: 'succeeded', attempts: { used: 2 } })
    expect(task.runs[0].error).toMatchObject({
      name: 'ProcessDied',
      message: expect.stringMatching(message),
    })
    expect(other).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
  })

  it('finishes when a signal to the whole process group stops its worker', async () => {
    const worker = await aWorker(['--isolate'], {}, { leadsGroup: true })
    const id = await system.publish({
      type: 'video',
      key: 'grouped',
      input: { report: system.reportUrl, sleepMs: 1_500 },
    })
    await hasReported('grouped', 'started')

    process.kill(-worker.pid, 'SIGTERM')
    const code = await worker.ended
    const task = await system.taskWhen(id, hasEnded)

    expect(code).toBe(0)
    expect(task).toMatchObject({ status: 'succeeded', attempts: { used: 1 } })
  })

  it('that ignores its signal is killed five seconds later', async () => {
    await aWorker(['--isolate'])
    const id = await system.publish({
      ...{ type: 'video', key: 'deaf', heartbeatMs: 500 },
      input: { report: system.reportUrl, sleepMs: 60_000, ignoreSignal: true },
    })
    const { pid } = await hasReported('deaf', 'started')

    const cancelledAt = Date.now()
    await system.call('POST', `/v1/tasks/${id}/cancel`)
    await expect.poll(() => isAlive(pid)).toBe(false)

    expect(Date.now() - cancelledAt).toBeGreaterThanOrEqual(5_000)
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
