import { describe, expect, it } from 'vitest'
import { cancel } from '../../shared/core/operate/operate.ts'
import { claim } from '../../shared/core/run/claim.ts'
import { BatonError } from '../../shared/core/values/values.ts'
import { acquirePermits } from '../../shared/runtime/limits/permits.ts'
import type { Failure } from '../../shared/worker/engine.ts'
import { changeOf, SECOND } from '../support/tasks/a-task.ts'
import { aSystemWith, limited } from '../support/worlds/limited-system.ts'
import { aMemorySystem, stored } from '../support/worlds/memory-system.ts'
import { aDefinition, aGate, aWorkerWorld } from './a-worker-world.ts'

describe('a dispatch', () => {
  it('is deleted as soon as its task is claimed: a run may outlast every visibility timeout', async () => {
    const gate = aGate()
    const world = aWorkerWorld({ tasks: [aDefinition(gate.run)] })
    const [task] = await world.dispatched(1)

    await world.system.clock.advance(1 * SECOND)
    const queued = world.inbox.size('resize')
    await world.system.clock.advance(3_600 * SECOND)
    gate.openAll()
    await world.system.clock.advance(1 * SECOND)

    expect(queued).toBe(0)
    expect(await world.head(task!)).toMatchObject({ state: 'succeeded', fence: 1 })
  })

  it('that comes up to a second early waits in the worker: its task starts at its due time', async () => {
    const world = aWorkerWorld({ tasks: [aDefinition(() => 'done')] })
    const dueAt = world.system.clock.now() + 900
    const [task] = await world.dispatched(1, { dueAt })

    await world.system.clock.advance(1 * SECOND)

    expect((await world.head(task!)).startedAt).toBe(dueAt)
  })

  it('that comes more than a second and a half early goes back with a delay', async () => {
    const world = aWorkerWorld({ tasks: [aDefinition(() => 'done')] })
    const dueAt = world.system.clock.now() + 7_400
    const [task] = await world.dispatched(1, { dueAt })

    await world.system.clock.advance(1 * SECOND)
    const running = world.worker.running()
    await world.system.clock.advance(8 * SECOND)

    expect(running).toBe(0)
    expect((await world.head(task!)).startedAt).toBe(dueAt)
  })

  it('whose task is finished or claimed is deleted, and the handler is not called', async () => {
    const system = aMemorySystem()
    let calls = 0
    const world = aWorkerWorld({ tasks: [aDefinition(() => void calls++)] }, system)
    const [cancelled, taken] = await world.dispatched(2)
    await system.tasks.apply(changeOf(cancel(cancelled!, system.clock.now())))
    await system.tasks.apply(changeOf(claim(taken!, { workerId: 'other' }, system.clock.now())))

    await system.clock.advance(1 * SECOND)

    expect(calls).toBe(0)
    expect(world.inbox.size('resize')).toBe(0)
  })

  it.each([
    ['of this moment', 0],
    ['that has waited for an hour, when the sweeper sends it again', 3_600 * SECOND],
  ])('of a task %s that only another worker may take is passed on to it', async (_which, ageMs) => {
    const system = aMemorySystem()
    const first = aWorkerWorld({ tasks: [aDefinition(() => 'done')] }, system)
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
  })

  it('whose task another worker is about to claim is passed on until that claim is over', async () => {
    const world = aWorkerWorld({ tasks: [aDefinition(() => 'done')] }, await aSystemWith(1))
    const task = await stored(world.system)
    await acquirePermits(world.system, task, [limited(1)])
    world.inbox.put(task)

    await world.system.clock.advance(9 * SECOND)
    const [queued, { state }] = [world.inbox.size('resize'), await world.head(task)]
    await world.system.clock.advance(3 * SECOND)
    const after = await world.head(task)

    expect([queued, state]).toEqual([1, 'open'])
    expect(after.wait).toMatchObject({ kind: 'permit' })
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
    const world = aWorkerWorld(
      { tasks: [aDefinition(() => 'done')], onError: failure => failures.push(failure) },
      flaky,
    )
    const [task] = await world.dispatched(1)

    await system.clock.advance(2 * SECOND)
    const queued = world.inbox.size('resize')
    down = false
    await system.clock.advance(31 * SECOND)

    expect(queued).toBe(1)
    expect(failures).toMatchObject([{ error: { code: 'unavailable' }, task: { id: task!.id } }])
    expect((await world.head(task!)).state).toBe('succeeded')
  })
})

describe('a queue that does not answer', () => {
  it('is asked again every second; other types are served meanwhile', async () => {
    const failures: Failure[] = []
    const world = aWorkerWorld({
      tasks: [aDefinition(() => 'done'), aDefinition(() => 'done', 'broken')],
      onError: failure => failures.push(failure),
    })
    const { receive } = world.inbox
    world.inbox.receive = (type, ...rest) =>
      type === 'broken' ? Promise.reject(new BatonError('unavailable', 'no answer')) : receive(type, ...rest)
    const [task] = await world.dispatched(1)

    await world.system.clock.advance(30 * SECOND)

    expect(failures.length).toBeGreaterThan(5)
    expect(failures.length).toBeLessThanOrEqual(31)
    expect((await world.head(task!)).state).toBe('succeeded')
  })
})
