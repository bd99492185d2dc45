import { describe, expect, it } from 'vitest'
import { BatonError } from '../../shared/core/errors.ts'
import { cancel } from '../../shared/core/operate/operate.ts'
import { claim } from '../../shared/core/run/claim.ts'
import { acquirePermits } from '../../shared/runtime/limits/permits.ts'
import type { Failure } from '../../shared/worker/hooks.ts'
import { changeOf, SECOND } from '../support/tasks/a-task.ts'
import { aSystemWith, limited } from '../support/worlds/limited-system.ts'
import { aMemorySystem, stored } from '../support/worlds/memory-system.ts'
import { aDefinition, aGate, aWorker, ended } from './a-worker.ts'

describe('a dispatch', () => {
  it('is deleted as soon as its task is claimed: a run may outlast every visibility timeout', async () => {
    const gate = aGate()
    const test = aWorker({ tasks: [aDefinition(gate.run)] })
    const [task] = await test.dispatched(1)

    await test.system.clock.advance(1 * SECOND)
    const queued = test.inbox.size('resize')
    await test.system.clock.advance(3_600 * SECOND)
    gate.openAll()
    await test.system.clock.advance(1 * SECOND)

    expect(queued).toBe(0)
    expect(await test.head(task!)).toMatchObject({ state: 'succeeded', fence: 1 })
    await ended(test)
  })

  it('that comes up to a second early waits in the worker: its task starts at its due time', async () => {
    const test = aWorker({ tasks: [aDefinition(() => 'done')] })
    const dueAt = test.system.clock.now() + 900
    const [task] = await test.dispatched(1, { dueAt })

    await test.system.clock.advance(1 * SECOND)

    expect((await test.head(task!)).startedAt).toBe(dueAt)
    await ended(test)
  })

  it('that comes much too early goes back with a delay', async () => {
    const test = aWorker({ tasks: [aDefinition(() => 'done')] })
    const dueAt = test.system.clock.now() + 7_400
    const [task] = await test.dispatched(1, { dueAt })

    await test.system.clock.advance(1 * SECOND)
    const running = test.worker.running()
    await test.system.clock.advance(8 * SECOND)

    expect(running).toBe(0)
    expect((await test.head(task!)).startedAt).toBe(dueAt)
    await ended(test)
  })

  it('whose task is finished or claimed is deleted, and the handler is not called', async () => {
    const system = aMemorySystem()
    let calls = 0
    const test = aWorker({ tasks: [aDefinition(() => void calls++)] }, system)
    const [cancelled, taken] = await test.dispatched(2)
    await system.tasks.apply(changeOf(cancel(cancelled!, system.clock.now())))
    await system.tasks.apply(changeOf(claim(taken!, { workerId: 'other' }, system.clock.now())))

    await system.clock.advance(1 * SECOND)

    expect(calls).toBe(0)
    expect(test.inbox.size('resize')).toBe(0)
    await ended(test)
  })

  it.each([
    ['of this moment', 0],
    ['that has waited for an hour, when the sweeper sends it again', 3_600 * SECOND],
  ])('of a task %s that only another worker may take is passed on to it', async (_which, ageMs) => {
    const system = aMemorySystem()
    const first = aWorker({ tasks: [aDefinition(() => 'done')] }, system)
    const [task] = await first.dispatched(1, {
      dueAt: system.clock.now() - ageMs,
      options: { minWorkerVersion: '2.0' },
    })

    await system.clock.advance(5 * SECOND)
    const kept = first.inbox.size('resize')
    await system.clock.advance(60 * SECOND)

    expect(kept).toBe(1)
    expect(first.inbox.size('resize')).toBe(0)
    expect(await first.head(task!)).toMatchObject({ state: 'open', revision: task!.revision })
    await ended(first)
  })

  it('whose task another worker is about to claim comes again until that is over', async () => {
    const test = aWorker({ tasks: [aDefinition(() => 'done')] }, await aSystemWith(1))
    const task = await stored(test.system)
    await acquirePermits(test.system, task, [limited(1)])
    test.inbox.put(task)

    await test.system.clock.advance(9 * SECOND)
    const [queued, { state }] = [test.inbox.size('resize'), await test.head(task)]
    await test.system.clock.advance(3 * SECOND)
    const after = await test.head(task)

    expect([queued, state]).toEqual([1, 'open'])
    expect(after.wait).toMatchObject({ kind: 'permit' })
    await ended(test)
  })

  it('stays in its queue while the store does not answer, and is served afterwards', async () => {
    const system = aMemorySystem()
    const failures: Failure[] = []
    let down = true
    const flaky = {
      ...system,
      tasks: {
        ...system.tasks,
        apply: (change: Parameters<typeof system.tasks.apply>[0]) =>
          down && change.after.operation === 'claim'
            ? Promise.reject(new BatonError('unavailable', 'no answer'))
            : system.tasks.apply(change),
      },
    }
    const test = aWorker(
      { tasks: [aDefinition(() => 'done')], onError: failure => failures.push(failure) },
      flaky,
    )
    const [task] = await test.dispatched(1)

    await system.clock.advance(2 * SECOND)
    const queued = test.inbox.size('resize')
    down = false
    await system.clock.advance(31 * SECOND)

    expect(queued).toBe(1)
    expect(failures).toMatchObject([{ error: { code: 'unavailable' }, task: { id: task!.id } }])
    expect((await test.head(task!)).state).toBe('succeeded')
    await ended(test)
  })
})

describe('a queue that does not answer', () => {
  it('is asked again every second; other types are served meanwhile', async () => {
    const failures: Failure[] = []
    const test = aWorker({
      tasks: [aDefinition(() => 'done'), aDefinition(() => 'done', 'broken')],
      onError: failure => failures.push(failure),
    })
    const { receive } = test.inbox
    test.inbox.receive = (type, ...rest) =>
      type === 'broken' ? Promise.reject(new BatonError('unavailable', 'no answer')) : receive(type, ...rest)
    const [task] = await test.dispatched(1)

    await test.system.clock.advance(30 * SECOND)

    expect(failures.length).toBeGreaterThan(5)
    expect(failures.length).toBeLessThanOrEqual(31)
    expect((await test.head(task!)).state).toBe('succeeded')
    await ended(test)
  })
})
