import { describe, expect, it } from 'vitest'
import { heldByShard, holderIn, permitsIn, shardOf, shardsOf } from '../../../shared/core/limits/limits.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { acquirePermits, noteFreed, releasePermits } from '../../../shared/runtime/limits/permits.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { aSystemWith, limited, storedAll } from '../../support/worlds/limited-system.ts'
import { aMemorySystem, type MemorySystem } from '../../support/worlds/memory-system.ts'

const holdersOf = async ({ limits }: MemorySystem, max = 1_000) =>
  (await limits.permits('resize', shardsOf(max))).holders

/** Another process: it shares the store, and knows nothing of what other processes have learned about the shards. */
const anotherProcess = (system: MemorySystem): MemorySystem => ({ ...system, limits: { ...system.limits } })

/** Adds `count` holders that stay. Free permits are where chance leaves them. */
async function filled(system: MemorySystem, max: number, count: number, seed = 1): Promise<void> {
  const chance = createSeededChance(seed)
  const held = heldByShard(await holdersOf(system))
  const places = shardsOf(max).flatMap(shard =>
    Array<number>(permitsIn(shard, max) - (held.get(shard) ?? 0)).fill(shard),
  )
  const order = places.map(shard => ({ shard, by: chance.fraction() })).sort((a, b) => a.by - b.by)
  for (const [nth, { shard }] of order.slice(0, count).entries()) {
    const holder = holderIn(shard, `filler${String(nth).padStart(10, '0')}`)
    const refused = await system.limits.acquire('resize', { holder, taskId: `resize:f${nth}`, since: NOW }, 8)
    if (refused) throw new Error('no permit is free')
  }
}

type Calls = { writes: number; refused: number; shardsRead: number }

/** The system, and what its processes ask the limits for. */
function counted(system: MemorySystem): { readonly system: MemorySystem; readonly calls: Calls } {
  const calls: Calls = { writes: 0, refused: 0, shardsRead: 0 }
  const { limits } = system
  const counting: MemorySystem['limits'] = {
    ...limits,
    acquire: async (...args) => {
      const refused = await limits.acquire(...args)
      calls.writes += 1
      calls.refused += refused ? 1 : 0
      return refused
    },
    release: (...args) => {
      calls.writes += 1
      return limits.release(...args)
    },
    permits: (limit, shards) => {
      calls.shardsRead += shards.length
      return limits.permits(limit, shards)
    },
  }
  return { system: { ...system, limits: counting }, calls }
}

describe('the permits of a run', () => {
  const RUNS = 40
  const occupied = async (max: number, share: number) => {
    const stored = aMemorySystem()
    await filled(stored, max, Math.min(max - 1, Math.round(max * share)))
    return counted(stored)
  }
  const run = async (process: MemorySystem, max: number) => {
    const acquired = await acquirePermits(process, aTask(), [limited(max)])
    if (!acquired.ok) throw new Error(acquired.why)
    return () => releasePermits(process, acquired.permits)
  }
  const cases = [10, 100, 350, 1_000].flatMap(max => [0.5, 0.99].map(share => ({ max, share })))

  it.each(cases)(
    'cost two writes, none of them refused, in processes that know nothing: $max, $share held',
    async ({ max, share }) => {
      const { system, calls } = await occupied(max, share)

      for (let nth = 0; nth < RUNS; nth++) await (await run(anotherProcess(system), max))()

      expect(calls).toMatchObject({ writes: 2 * RUNS, refused: 0 })
    },
  )

  it.each(cases)(
    'cost two writes, and no more reads than one, in a process that has just ended a run: $max, $share held',
    async ({ max, share }) => {
      const { system, calls } = await occupied(max, share)
      await (await run(system, max))()
      Object.assign(calls, { writes: 0, shardsRead: 0 })

      // Each run reads at most the first shards of a search, and one note in a second.
      for (let nth = 0; nth < RUNS; nth++) await (await run(system, max))()

      expect(calls).toMatchObject({ writes: 2 * RUNS, refused: 0 })
      expect(calls.shardsRead).toBeLessThanOrEqual(2 * RUNS + 1)
    },
  )

  it.each(cases)(
    'cost two writes and no search, if the dispatch names a freed permit: $max, $share held',
    async ({ max, share }) => {
      const { system, calls } = await occupied(max, share)
      const held = await holdersOf(system)
      const shard = shardsOf(max).find(
        one => held.filter(({ holder }) => shardOf(holder) === one).length < permitsIn(one, max),
      )
      Object.assign(calls, { shardsRead: 0 })
      const receiver = anotherProcess(system)
      noteFreed(receiver, { limit: 'resize', shard: shard ?? -1 })

      const end = await run(receiver, max)

      expect(calls).toEqual({ writes: 1, refused: 0, shardsRead: 0 })
      await end()
      expect(calls.writes).toBe(2)
    },
  )

  it('are found in the last free place of a thousand', async () => {
    const system = aMemorySystem()
    await filled(system, 1_000, 999, 7)

    const last = await acquirePermits(system, aTask(), [limited(1_000)])
    const refused = await acquirePermits(anotherProcess(system), aTask({ key: 'other' }), [limited(1_000)])

    expect(last.ok).toBe(true)
    expect(refused).toMatchObject({ ok: false, why: 'used-up' })
    expect(await holdersOf(system)).toHaveLength(1_000)
  })
})

describe('a permit that is released while a claim finds the limit used up', () => {
  it.each(['before the note', 'after the note'] as const)('is taken by this claim: %s', async when => {
    const system = await aSystemWith(20)
    const [task] = (await storedAll(system, 1)) as [Task]
    const held = await acquirePermits(system, aTask({ key: 'first' }), [limited(20)])
    await filled(system, 20, 19)
    let free: () => Promise<void> = async () => {
      if (held.ok) await releasePermits(anotherProcess(system), held.permits)
      free = async () => undefined
    }
    const putLine: MemorySystem['limits']['putLine'] = async (...args) => {
      if (when === 'before the note') await free()
      const newer = await system.limits.putLine(...args)
      if (when === 'after the note') await free()
      return newer
    }
    const claimer = { ...system, limits: { ...system.limits, putLine } }

    expect(await claimTask(claimer, task, { workerId: 'w' })).toHaveProperty('run')
  })

  it('is found by a look a second after the note, if the planner knew of no note', async () => {
    const system = await aSystemWith(20)
    const [task] = (await storedAll(system, 1)) as [Task]
    const held = await acquirePermits(system, aTask({ key: 'a' }), [limited(20)])
    await filled(system, 20, 19)
    expect(await claimTask(system, task, { workerId: 'w' })).toMatchObject({ refused: 'concurrency-limit' })
    const [first] = system.messages.limitLooks.splice(0)
    if (held.ok) await releasePermits(system, held.permits)
    system.messages.limitLooks.length = 0

    await system.clock.advance(SECOND)
    if (first) await serveLimitLook(system, first)

    expect(first?.delaySeconds).toBe(1)
    expect(system.messages.dispatches).toMatchObject([{ task: { id: task.id } }])
  })
})

describe('permits while `max` changes', () => {
  it.each([1, 2, 3, 4, 5, 6])(
    'are never more than the largest `max` under which one of their holders was admitted (seed %i)',
    async seed => {
      const chance = createSeededChance(seed)
      const system = aMemorySystem()
      const store = system.limits
      const pause = async () => {
        for (let left = Math.floor(chance.fraction() * 4); left > 0; left--) await Promise.resolve()
      }
      const admitted = new Map<string, number>()
      let mostHeld = 0
      const check = async () => {
        const held = (await holdersOf(system, 40)).flatMap(one => admitted.get(one.holder) ?? [])
        for (const max of new Set(held)) {
          expect(held.filter(other => other <= max).length).toBeLessThanOrEqual(max)
        }
      }
      const live = async () => {
        let max = 1
        const limits: MemorySystem['limits'] = {
          ...store,
          acquire: async (...args) => {
            await pause()
            const refused = await store.acquire(...args)
            if (!refused) admitted.set(args[1].holder, max)
            await check()
            return refused
          },
          permits: async (...args) => {
            const read = await store.permits(...args)
            await pause()
            return read
          },
        }
        const process = { ...system, chance, limits }
        const mine: Array<() => Promise<void>> = []
        for (let nth = 0; nth < 60; nth++) {
          if (chance.fraction() < 0.4) await mine.shift()?.()
          // Each claim obeys the value that its process has cached. The values go up and down.
          max = [5, 17, 16, 33, 9, 40][Math.floor(chance.fraction() * 6)] ?? 1
          const acquired = await acquirePermits(process, aTask({ key: `k${nth}` }), [limited(max)])
          if (acquired.ok) mine.push(() => releasePermits(process, acquired.permits))
          mostHeld = Math.max(mostHeld, (await holdersOf(system, 40)).length)
        }
      }

      await Promise.all(Array.from({ length: 8 }, live))

      expect(mostHeld).toBeGreaterThan(33)
    },
  )

  it('lets no task start in a shard that holds more than it now may, until enough of its runs have ended', async () => {
    const system = aMemorySystem()
    const took = async (max: number) =>
      acquirePermits(anotherProcess(system), aTask({ key: 'k' }), [limited(max)])
    const first = await Promise.all(Array.from({ length: 16 }, () => took(16)))

    const refused = await took(9)
    for (const one of first)
      if (one.ok)
        await releasePermits(
          system,
          one.permits.filter(({ holder }) => shardOf(holder) === 0),
        )
    const later = await Promise.all(Array.from({ length: 9 }, () => took(9)))

    expect(first.filter(({ ok }) => ok)).toHaveLength(16)
    expect(refused.ok).toBe(false)
    // Eight old runs hold permits of the second shard, which has one now. Together they never exceed the old limit.
    expect(later.filter(({ ok }) => ok)).toHaveLength(8)
    expect(await holdersOf(system)).toHaveLength(16)
  })
})
