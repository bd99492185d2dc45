import { describe, expect, it } from 'vitest'
import { SECOND } from '../support/tasks/a-task.ts'
import { aMemorySystem } from '../support/worlds/memory-system.ts'
import { aDefinition, aGate, aWorker, ended } from './a-worker.ts'

describe('a worker', () => {
  it('runs as many tasks at a time as its concurrency, and then the others', async () => {
    const gate = aGate()
    const test = aWorker({ tasks: [aDefinition(gate.run)], concurrency: 3 })
    const tasks = await test.dispatched(10)

    await test.system.clock.advance(1 * SECOND)
    const atFirst = gate.running()
    for (let i = 0; i < 10; i++) {
      gate.openAll()
      await test.system.clock.advance(1 * SECOND)
    }

    const states = await Promise.all(tasks.map(async task => (await test.head(task)).state))
    expect(atFirst).toBe(3)
    expect(gate.most()).toBe(3)
    expect(new Set(states)).toEqual(new Set(['succeeded']))
    expect(test.inbox.size('resize')).toBe(0)
    await ended(test)
  })

  it('applies a change of its concurrency at once, in both directions', async () => {
    const gate = aGate()
    const test = aWorker({ tasks: [aDefinition(gate.run)], concurrency: 1 })
    await test.dispatched(20)

    await test.system.clock.advance(1 * SECOND)
    const one = gate.running()
    test.worker.setConcurrency(5)
    await test.system.clock.advance(1 * SECOND)
    const five = gate.running()
    test.worker.setConcurrency(2)
    gate.openAll()
    await test.system.clock.advance(1 * SECOND)
    const two = gate.running()

    expect([one, five, two]).toEqual([1, 5, 2])
    expect(test.worker.running()).toBe(2)
    await ended(test)
  })

  it('with a concurrency of 1 serves its types alternately: a long queue starves no other', async () => {
    const system = aMemorySystem()
    const order: string[] = []
    const run = async (_input: unknown, { type }: { type: string }) => {
      order.push(type)
      await system.clock.sleep(100)
    }
    const test = aWorker(
      { tasks: [aDefinition(run, 'busy'), aDefinition(run, 'rare')], concurrency: 1 },
      system,
    )
    await test.dispatched(20, { type: 'busy' })
    await test.dispatched(2, { type: 'rare' })

    await test.system.clock.advance(5 * SECOND)

    expect(order).toHaveLength(22)
    expect(order.indexOf('rare')).toBeLessThanOrEqual(2)
    expect(order.lastIndexOf('rare')).toBeLessThanOrEqual(5)
    await ended(test)
  })

  it('with idle types beside it gives a busy type all its capacity', async () => {
    const gate = aGate()
    const idle = ['a', 'b', 'c'].map(type => aDefinition(() => 0, type))
    const test = aWorker({ tasks: [...idle, aDefinition(gate.run)], concurrency: 4 })
    await test.system.clock.advance(2 * SECOND)
    await test.dispatched(8)

    await test.system.clock.advance(1 * SECOND)

    expect(gate.running()).toBe(4)
    await ended(test)
  })

  it('that is full sends back a dispatch of an idle type, and serves it when capacity is free', async () => {
    const gate = aGate()
    const served: string[] = []
    const rare = aDefinition(() => void served.push('rare'), 'rare')
    const test = aWorker({ tasks: [aDefinition(gate.run), rare], concurrency: 2 })
    await test.system.clock.advance(1 * SECOND)
    await test.dispatched(2)
    await test.system.clock.advance(1 * SECOND)
    await test.dispatched(1, { type: 'rare' })
    await test.system.clock.advance(1 * SECOND)
    const whileFull = [...served]

    gate.openAll()
    await test.system.clock.advance(1 * SECOND)

    expect(whileFull).toEqual([])
    expect(served).toEqual(['rare'])
    await ended(test)
  })

  it.each([
    [0, 'give a whole number from 1 up'],
    [1.5, 'give a whole number from 1 up'],
    [Number.NaN, 'give a whole number from 1 up'],
  ])('refuses a concurrency of %s', (concurrency, message) => {
    expect(() => aWorker({ tasks: [aDefinition(() => 0)], concurrency })).toThrow(message)
  })

  it('refuses to serve one type by two definitions, or none at all', () => {
    const tasks = [aDefinition(() => 1), aDefinition(() => 2)]

    expect(() => aWorker({ tasks })).toThrow("two definitions of the type 'resize'")
    expect(() => aWorker({ tasks: [] })).toThrow('at least one task')
  })
})
