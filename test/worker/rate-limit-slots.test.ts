import { describe, expect, it } from 'vitest'
import type { Task } from '../../shared/core/task/task.ts'
import type { TypeLimits } from '../../shared/core/types/task-type.ts'
import { SECOND } from '../support/tasks/a-task.ts'
import { aMemorySystem, registered, timed } from '../support/worlds/memory-system.ts'
import { aDefinition, aWorkerWorld } from './a-worker-world.ts'

/** Slots come every 2.08 s: the limit's period of 2 s, and 4 % for the lateness of starts. */
const RATE = { limit: 1, perMs: 2 * SECOND }

async function aLimitedWorker(concurrency: number, limits: TypeLimits = { rate: RATE }) {
  const system = aMemorySystem()
  const configuration = { kind: 'handler' as const, defaults: {}, shards: 1, limits }
  const type = await registered(system, { configuration })
  const startedAt: number[] = []
  const begunAt = system.clock.now()
  const task = aDefinition(() => void startedAt.push(system.clock.now() - begunAt))
  const world = aWorkerWorld({ tasks: [task], concurrency }, system)
  const heads = (tasks: readonly Task[]) => Promise.all(tasks.map(world.head))
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 20) await system.clock.advance(20)
  }
  return { ...world, type, startedAt, heads, pass }
}

/** How many of the tasks record a slot to wait for, which costs a write and brings a new dispatch. */
const noted = (tasks: readonly Task[]) => tasks.filter(({ wait }) => wait?.kind === 'slot').length

describe('a worker whose tasks wait for slots under a rate limit', () => {
  it('keeps tasks whose slot comes within 7.5 s, and sends the others back', async () => {
    const world = await aLimitedWorker(20)
    const tasks = await world.dispatched(6)

    await world.pass(9 * SECOND)

    expect(noted(await world.heads(tasks))).toBe(2)
    expect(world.startedAt).toHaveLength(4)
    for (const [nth, at] of world.startedAt.entries()) {
      expect(at).toBeGreaterThanOrEqual(nth * 2 * SECOND)
      expect(at).toBeLessThan(nth * 2_080 + 200)
    }
  })

  it.each([
    { concurrency: 1, kept: 0 },
    { concurrency: 3, kept: 1 },
    { concurrency: 4, kept: 2 },
  ])('with a concurrency of $concurrency keeps $kept of them waiting', async ({ concurrency, kept }) => {
    const world = await aLimitedWorker(concurrency)
    const tasks = await world.dispatched(5)

    await world.pass(1_800)

    expect(noted(await world.heads(tasks))).toBe(4 - kept)
  })

  it('starts none of them once their type is paused', async () => {
    const world = await aLimitedWorker(20)
    const tasks = await world.dispatched(3)
    await world.pass(SECOND)

    await world.system.types.put({ ...world.type, paused: true, version: 2 }, 1)
    await world.pass(8 * SECOND)

    expect(world.startedAt).toHaveLength(1)
    expect((await world.heads(tasks)).map(({ fence }) => fence)).toEqual([1, 0, 0])
  })

  it('makes them wait for new slots under a changed limit', async () => {
    const world = await aLimitedWorker(20)
    await world.dispatched(3)
    await world.pass(SECOND)

    const limits = { rate: { limit: 1, perMs: 60 * SECOND } }
    const configuration = { ...world.type.configuration, limits }
    await world.system.types.put({ ...world.type, configuration, version: 2 }, 1)
    await world.pass(20 * SECOND)

    expect(world.startedAt).toHaveLength(1)
  })

  it('records their slots when it stops', async () => {
    const world = await aLimitedWorker(20)
    const tasks = await world.dispatched(4)
    await world.pass(SECOND)
    const before = noted(await world.heads(tasks))

    await timed(world.system, world.worker.stop())

    expect(before).toBe(0)
    expect(noted(await world.heads(tasks))).toBeGreaterThanOrEqual(2)
  })

  it('keeps none of them waiting when they also need a permit', async () => {
    const world = await aLimitedWorker(20, { rate: RATE, concurrency: { max: 5 } })
    const tasks = await world.dispatched(4)

    await world.pass(SECOND)

    expect(noted(await world.heads(tasks))).toBe(3)
  })
})
