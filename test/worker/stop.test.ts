import { describe, expect, it } from 'vitest'
import { SECOND } from '../support/tasks/a-task.ts'
import { aDefinition, aGate, aWorker, ended } from './a-worker.ts'

/** A promise, and whether it has settled. */
function watched(promise: Promise<void>): { readonly isOver: () => boolean } {
  let over = false
  void promise.then(() => {
    over = true
  })
  return { isOver: () => over }
}

describe('a worker that is stopped', () => {
  it('receives nothing more and lets its runs finish', async () => {
    const gate = aGate()
    const test = aWorker({ tasks: [aDefinition(gate.run)] })
    const [running] = await test.dispatched(1)
    await test.system.clock.advance(1 * SECOND)

    const stop = watched(test.worker.stop())
    const [later] = await test.dispatched(1)
    await test.system.clock.advance(10 * SECOND)
    const early = stop.isOver()
    gate.openAll()
    await test.system.clock.advance(1 * SECOND)

    expect(early).toBe(false)
    expect(stop.isOver()).toBe(true)
    expect((await test.head(running!)).state).toBe('succeeded')
    expect(await test.head(later!)).toMatchObject({ state: 'open', fence: later!.fence })
    expect(test.inbox.size('resize')).toBe(1)
    expect(test.system.clock.sleepers()).toBe(0)
  })

  it('releases runs that have not finished within the limit: no retry is counted', async () => {
    const gate = aGate()
    const test = aWorker({ tasks: [aDefinition(gate.run)], drainMs: 5 * SECOND })
    const [task] = await test.dispatched(1)
    await test.system.clock.advance(1 * SECOND)

    const stop = watched(test.worker.stop())
    await test.system.clock.advance(4 * SECOND)
    const early = stop.isOver()
    await test.system.clock.advance(2 * SECOND)

    const head = await test.head(task!)
    expect(early).toBe(false)
    expect(stop.isOver()).toBe(true)
    expect(head).toMatchObject({ state: 'open', failures: 0, live: {} })
    expect(head.ended[1]?.state).toBe('released')
  })

  it('does not wait for a handler that ignores its signal', async () => {
    const test = aWorker({ tasks: [aDefinition(() => new Promise(() => undefined))] })
    const [task] = await test.dispatched(1)
    await test.system.clock.advance(1 * SECOND)

    const stop = watched(test.worker.stop({ timeoutMs: 0 }))
    await test.system.clock.advance(1 * SECOND)

    expect(stop.isOver()).toBe(true)
    expect((await test.head(task!)).ended[1]?.state).toBe('released')
  })

  it('is aborted by a second call: its runs are released at once', async () => {
    const gate = aGate()
    const test = aWorker({ tasks: [aDefinition(gate.run)] })
    const [task] = await test.dispatched(1)
    await test.system.clock.advance(1 * SECOND)

    const stop = watched(test.worker.stop())
    await test.system.clock.advance(1 * SECOND)
    const early = stop.isOver()
    const abort = watched(test.worker.abort())
    await test.system.clock.advance(0)

    expect([early, stop.isOver(), abort.isOver()]).toEqual([false, true, true])
    expect((await test.head(task!)).ended[1]?.state).toBe('released')
  })

  it('sends back a dispatch whose time has not quite come', async () => {
    const test = aWorker({ tasks: [aDefinition(() => 'done')] })
    const [task] = await test.dispatched(1, { dueAt: test.system.clock.now() + 900 })
    await test.system.clock.advance(100)

    const stop = watched(test.worker.stop())
    await test.system.clock.advance(1 * SECOND)

    expect(stop.isOver()).toBe(true)
    expect(await test.head(task!)).toMatchObject({ state: 'open', fence: task!.fence })
    expect(test.inbox.size('resize')).toBe(1)
  })

  it('does not wait for a hook that hangs', async () => {
    const test = aWorker({
      tasks: [aDefinition(() => 'done')],
      afterRun: () => new Promise(() => undefined),
      drainMs: 1 * SECOND,
    })
    const [task] = await test.dispatched(1)
    await test.system.clock.advance(1 * SECOND)

    const stop = watched(test.worker.stop())
    await test.system.clock.advance(2 * SECOND)

    expect(stop.isOver()).toBe(true)
    expect((await test.head(task!)).state).toBe('succeeded')
  })

  it('does not start again', async () => {
    const test = aWorker({ tasks: [aDefinition(() => 'done')] })
    await ended(test)

    expect(() => test.worker.start()).toThrow('was stopped')
  })
})
