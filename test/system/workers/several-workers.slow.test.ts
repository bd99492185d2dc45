import { describe, expect, it } from 'vitest'
import { hasEnded } from '../../support/local-system/local-system.ts'
import { scaled } from '../../support/scale.ts'
import { aWorkerFleet, statesOf } from '../../support/workers/worker-fleet.ts'

/** Tests standalone workers at the same time, and workers that tasks name. */

const RACED_TASKS = scaled(15, 30)

const { system, aWorker, publishAll, startsOf } = aWorkerFleet()

describe('several worker processes', () => {
  it('bring one success each to a task that asks for two', async () => {
    await Promise.all([aWorker(['--worker-id', 'a']), aWorker(['--worker-id', 'b'])])
    const id = await system.publish({ type: 'video', key: 'twice', input: {}, concurrency: 2 })

    const task = await system.taskWhen(id, hasEnded)

    expect(task.status).toBe('succeeded')
    expect(statesOf(task)).toEqual(['succeeded', 'succeeded'])
    expect(task.runs.map(({ workerId }: { workerId: string }) => workerId).sort()).toEqual(['a', 'b'])
  })

  it('keep the success of one worker while the other fails and tries again', async () => {
    const statesByWorker = ({ runs }: { runs: Array<{ workerId: string; state: string }> }) =>
      runs.map(({ workerId, state }) => `${workerId} ${state}`)
    await aWorker(['--worker-id', 'able'])
    const id = await system.publish({
      ...{ type: 'video', key: 'half', input: {}, concurrency: 2 },
      retry: { maxRetries: 3, backoff: 'fixed', delayMs: 600_000 },
    })
    await system.taskWhen(id, task => statesByWorker(task).includes('able succeeded'))

    await aWorker(['--worker-id', 'clumsy'], { PROBE_FAILURES: '1' })
    const half = await system.taskWhen(id, ({ runs }) => runs.length > 1 && runs[1].state !== 'running')
    await system.call('PATCH', `/v1/tasks/${id}`, { delayMs: 0 })
    const done = await system.taskWhen(id, hasEnded)

    expect(half).toMatchObject({ status: 'delayed', statusReason: 'retry' })
    expect(statesByWorker(half)).toEqual(['able succeeded', 'clumsy failed'])
    expect(done).toMatchObject({ status: 'succeeded', attempts: { used: 3 } })
    expect(statesByWorker(done)).toEqual(['able succeeded', 'clumsy failed', 'clumsy succeeded'])
  })

  it('that race for the same tasks run each of them once', async () => {
    await Promise.all([aWorker(), aWorker(), aWorker()])
    system.cloud.mapping('Planner').repeat(3)

    const ids = await publishAll(RACED_TASKS, 'raced-', {
      type: 'video',
      input: { report: system.reportUrl },
    })
    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded)))
    system.cloud.mapping('Planner').repeat(1)

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
    await system.taskWhen(forAnyone, hasEnded)
    const waiting = await Promise.all(ids.map(id => system.taskWhen(id, () => true)))

    await aWorker(['--worker-id', 'late'])
    const tasks = await Promise.all(ids.map(id => system.taskWhen(id, hasEnded)))

    expect(waiting.map(({ status, runs }) => [status, runs])).toEqual(ids.map(() => ['ready', []]))
    expect(tasks.map(({ runs }) => runs)).toMatchObject(
      ids.map(() => [{ workerId: 'late', state: 'succeeded' }]),
    )
  })
})
