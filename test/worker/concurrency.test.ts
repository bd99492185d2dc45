import { describe, expect, it } from 'vitest'
import { SECOND } from '../support/tasks/a-task.ts'
import { aMemorySystem } from '../support/worlds/memory-system.ts'
import { aDefinition, aGate, aWorkerWorld } from './a-worker-world.ts'

describe('a worker', () => {
  it('runs as many tasks at a time as its concurrency, and then the others', async () => {
    const gate = aGate()
    const world = aWorkerWorld({ tasks: [aDefinition(gate.run)], concurrency: 3 })
    const tasks = await world.dispatched(10)

    await world.system.clock.advance(1 * SECOND)
    const atFirst = gate.running()
    for (let i = 0; i < 10; i++) {
      gate.openAll()
      await world.system.clock.advance(1 * SECOND)
    }

    const states = await Promise.all(tasks.map(async task => (await world.head(task)).state))
    expect(atFirst).toBe(3)
    expect(gate.most()).toBe(3)
    expect(new Set(states)).toEqual(new Set(['succeeded']))
    expect(world.inbox.size('resize')).toBe(0)
  })

  it('with a concurrency of 1 serves its types alternately: a long queue starves no other', async () => {
    const system = aMemorySystem()
    const order: string[] = []
    const run = async (_input: unknown, { type }: { type: string }) => {
      order.push(type)
      await system.clock.sleep(100)
    }
    const world = aWorkerWorld(
      { tasks: [aDefinition(run, 'busy'), aDefinition(run, 'rare')], concurrency: 1 },
      system,
    )
    await world.dispatched(20, { type: 'busy' })
    await world.dispatched(2, { type: 'rare' })

    await world.system.clock.advance(5 * SECOND)

    expect(order).toHaveLength(22)
    expect(order.indexOf('rare')).toBeLessThanOrEqual(2)
    expect(order.lastIndexOf('rare')).toBeLessThanOrEqual(5)
  })

  it('with idle types next to it gives a busy type all its capacity', async () => {
    const gate = aGate()
    const idle = ['a', 'b', 'c'].map(type => aDefinition(() => 0, type))
    const world = aWorkerWorld({ tasks: [...idle, aDefinition(gate.run)], concurrency: 4 })
    await world.system.clock.advance(2 * SECOND)
    await world.dispatched(8)

    await world.system.clock.advance(1 * SECOND)

    expect(gate.running()).toBe(4)
  })

  it('that is full sends back a dispatch of an idle type, and serves it when capacity is free', async () => {
    const gate = aGate()
    const served: string[] = []
    const rare = aDefinition(() => void served.push('rare'), 'rare')
    const world = aWorkerWorld({ tasks: [aDefinition(gate.run), rare], concurrency: 2 })
    await world.system.clock.advance(1 * SECOND)
    await world.dispatched(2)
    await world.system.clock.advance(1 * SECOND)
    await world.dispatched(1, { type: 'rare' })
    await world.system.clock.advance(1 * SECOND)
    const whileFull = [...served]

    gate.openAll()
    await world.system.clock.advance(1 * SECOND)

    expect(whileFull).toEqual([])
    expect(served).toEqual(['rare'])
  })

  it.each([
    [0, 'give a whole number from 1 up'],
    [1.5, 'give a whole number from 1 up'],
    [Number.NaN, 'give a whole number from 1 up'],
  ])('refuses a concurrency of %s', (concurrency, message) => {
    expect(() => aWorkerWorld({ tasks: [aDefinition(() => 0)], concurrency })).toThrow(message)
  })

  it('refuses to serve one type by two definitions, or none at all', () => {
    const tasks = [aDefinition(() => 1), aDefinition(() => 2)]

    expect(() => aWorkerWorld({ tasks })).toThrow("two definitions of the type 'resize'")
    expect(() => aWorkerWorld({ tasks: [] })).toThrow('at least one task')
  })
})
