import { describe, expect, it } from 'vitest'
import { SECOND } from '../support/tasks/a-task.ts'
import { aDefinition, aGate, aWorkerWorld } from './a-worker-world.ts'

/** A promise, and whether it has settled. */
function watched(promise: Promise<void>): { readonly isOver: () => boolean } {
  let over = false
  void promise.then(() => {
    over = true
  })
  return { isOver: () => over }
}

describe('a worker that is stopped', () => {
  it('receives no more tasks and lets its runs finish', async () => {
    const gate = aGate()
    const world = aWorkerWorld({ tasks: [aDefinition(gate.run)] })
    const [running] = await world.dispatched(1)
    await world.system.clock.advance(1 * SECOND)

    const stop = watched(world.worker.stop())
    const [later] = await world.dispatched(1)
    await world.system.clock.advance(10 * SECOND)
    const early = stop.isOver()
    gate.openAll()
    await world.system.clock.advance(1 * SECOND)

    expect(early).toBe(false)
    expect(stop.isOver()).toBe(true)
    expect((await world.head(running!)).state).toBe('succeeded')
    expect(await world.head(later!)).toMatchObject({ state: 'open', fence: later!.fence })
    expect(world.inbox.size('resize')).toBe(1)
    expect(world.system.clock.sleepers()).toBe(0)
  })

  it('releases its runs at once when it is aborted while it stops', async () => {
    const gate = aGate()
    const world = aWorkerWorld({ tasks: [aDefinition(gate.run)] })
    const [task] = await world.dispatched(1)
    await world.system.clock.advance(1 * SECOND)

    const stop = watched(world.worker.stop())
    await world.system.clock.advance(1 * SECOND)
    const early = stop.isOver()
    const abort = watched(world.worker.abort())
    await world.system.clock.advance(0)

    expect([early, stop.isOver(), abort.isOver()]).toEqual([false, true, true])
    expect((await world.head(task!)).ended[1]?.state).toBe('released')
  })

  it('sends a dispatch that is due within one second back to its queue', async () => {
    const world = aWorkerWorld({ tasks: [aDefinition(() => 'done')] })
    const [task] = await world.dispatched(1, { dueAt: world.system.clock.now() + 900 })
    await world.system.clock.advance(100)

    const stop = watched(world.worker.stop())
    await world.system.clock.advance(1 * SECOND)

    expect(stop.isOver()).toBe(true)
    expect(await world.head(task!)).toMatchObject({ state: 'open', fence: task!.fence })
    expect(world.inbox.size('resize')).toBe(1)
  })
})
