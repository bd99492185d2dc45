import { beforeEach, describe, expect, it } from 'vitest'
import { joinLine } from '../../../shared/core/limits/limits.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { changeOf, MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  claimed,
  type MemorySystem,
  registered,
  stored,
} from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

/** Stores a task of a registered type whose queue has this backlog, and lets this time pass. */
async function waited(
  ms: number,
  backlog: number | 'no queue' = 0,
  type: Partial<TaskType> = {},
): Promise<Task> {
  await registered(system, type)
  if (backlog !== 'no queue') system.messages.backlogs.set('resize', backlog)
  const task = await stored(system)
  await system.clock.advance(ms)
  return task
}

const atChance = (fraction: number): MemorySystem => ({
  ...system,
  chance: { ...system.chance, fraction: () => fraction },
})

describe('the sweeper', () => {
  it('plans a task again that became due and was not looked at, where the queue is empty', async () => {
    const task = await waited(11 * SECOND)

    const report = await sweep(system)

    expect(report).toEqual({ examined: 1, repaired: 1, failed: 0 })
    expect(system.messages.dispatches.map(({ task: sent }) => sent.id)).toEqual([task.id])
    expect(system.counted('SweeperRepaired')).toBe(1)
  })

  it.each<[string, number | 'no queue', number, number]>([
    ['a healthy backlog', 1, 11 * SECOND, 0],
    ['no queue: no handler is deployed', 'no queue', 11 * SECOND, 0],
    ['a task that became due only just now', 0, 5 * SECOND, 0],
    ['a backlog older than messages live', 1, 4 * 24 * 60 * MINUTE + 11 * SECOND, 1],
  ])('leaves alone or repairs: %s', async (_name, backlog, after, repaired) => {
    await waited(after, backlog)

    expect(await sweep(system)).toMatchObject({ repaired })
  })

  it('finds a lost dispatch of a webhook type, whose tasks go through the queue of the shipped one', async () => {
    await registered(system, { type: 'notify', configuration: { kind: 'webhook', defaults: {}, shards: 1 } })
    system.messages.backlogs.set('webhook', 0)
    const task = await stored(system, { type: 'notify', kind: 'webhook' })
    await system.clock.advance(11 * SECOND)

    await sweep(system)

    expect(system.messages.dispatches.map(({ task: sent }) => sent.id)).toEqual([task.id])
  })

  it('finds a run whose look was lost', async () => {
    await registered(system)
    system.messages.backlogs.set('resize', 5)
    const task = await claimed(system, await stored(system))
    await system.clock.advance(30 * SECOND)

    await sweep(system)

    expect(system.messages.looks.map(({ id }) => id)).toEqual([task.id])
  })

  it('finds a delayed task of an HTTP type that was never moved to its ready place', async () => {
    await registered(system, { configuration: { kind: 'http', defaults: {}, shards: 1 } })
    const parts = { kind: 'http', ordering: 'priority' } as const
    const late = await stored(system, { ...parts, key: 'late', dueAt: system.clock.now() + 5 * SECOND })
    await stored(system, { ...parts, key: 'open' })
    await system.clock.advance(20 * SECOND)

    await sweep(system)

    expect(system.messages.looks.map(({ id }) => id)).toEqual([late.id])
  })

  it('renews the input of a task that waits for weeks before it would expire', async () => {
    await registered(system)
    const task = await stored(system, { input: 'x'.repeat(1_000) })
    await system.clock.advance(36 * 24 * 60 * MINUTE)

    await sweep(system)

    const after = await readTask(system, task.id)
    const [before, renewed] = [task.input, after?.input]
    if (!before || !renewed || !('ref' in before) || !('ref' in renewed))
      throw new Error('the input stands apart')
    expect(renewed.expiresAt).toBeGreaterThan(before.expiresAt)
    expect(renewed.ref).toBe(before.ref)
  })

  it('leaves the input of a task with a short retention alone once it is renewed', async () => {
    await registered(system)
    const options = { retentionMs: 24 * 60 * MINUTE }
    const task = await stored(system, { input: 'x'.repeat(1_000), options })
    await system.clock.advance(26 * 24 * 60 * MINUTE)

    for (let round = 0; round < 5; round++) await sweep(system)

    expect((await readTask(system, task.id))?.revision).toBe(task.revision + 1)
  })

  it('sweeps the other types when one cannot be swept', async () => {
    await registered(system, { type: 'broken' })
    await waited(11 * SECOND)
    const messages = {
      ...system.messages,
      backlog: (type: string) =>
        type === 'broken' ? Promise.reject(new Error('no answer')) : system.messages.backlog(type),
    }

    const report = await sweep({ ...system, messages })

    expect(report).toEqual({ examined: 1, repaired: 1, failed: 1 })
  })

  it('repairs a type although one of its limits cannot be read, and sweeps the others', async () => {
    await registered(system)
    for (const limit of ['resize#broken', 'resize#whole']) {
      const task = await stored(system, { key: limit })
      await system.tasks.apply(changeOf(joinLine(task, { kind: 'permit', limit }, system.clock.now())))
    }
    const lost = await claimed(system, await stored(system))
    await system.clock.advance(5 * MINUTE)
    const line: typeof system.limits.line = of =>
      of.limit === 'resize#broken' ? Promise.reject(new Error('no answer')) : system.limits.line(of)

    const { failed } = await sweep({ ...system, limits: { ...system.limits, line } })

    expect(failed).toBe(0)
    expect(system.messages.looks.map(({ id }) => id)).toContain(lost.id)
    expect(system.messages.limitLooks).toMatchObject([{ line: { kind: 'permit', limit: 'resize#whole' } }])
  })

  it('dispatches a task that waited for days as soon as its handler is deployed', async () => {
    await stored(system)
    await system.clock.advance(2 * 24 * 60 * MINUTE)
    await registered(system, { handlerSince: system.clock.now() })
    system.messages.backlogs.set('resize', 0)
    await system.clock.advance(MINUTE)

    await sweep(system)

    expect(system.messages.dispatches).toHaveLength(1)
  })

  it.each<[string, number, { age: number; backlog: number; chance: number }]>([
    ['certainly while it is young', 1, { age: 2 * MINUTE, backlog: 0, chance: 0.999 }],
    ['more rarely then', 0, { age: 4 * MINUTE, backlog: 0, chance: 0.51 }],
    ['though often enough', 1, { age: 4 * MINUTE, backlog: 0, chance: 0.49 }],
    ['at every tenth look in the end', 1, { age: 3 * 24 * 60 * MINUTE, backlog: 0, chance: 0.099 }],
    ['and not more often', 0, { age: 3 * 24 * 60 * MINUTE, backlog: 0, chance: 0.101 }],
    ['never behind a backlog at first', 0, { age: 9 * MINUTE, backlog: 1, chance: 0 }],
    ['certainly behind a backlog after ten minutes', 1, { age: 10 * MINUTE, backlog: 1, chance: 0.999 }],
    ['less and less often behind a backlog', 0, { age: 24 * 60 * MINUTE, backlog: 1, chance: 0.0007 }],
    ['without end', 1, { age: 24 * 60 * MINUTE, backlog: 1, chance: 0.0006 }],
  ])('sends a task that waits again: %s', async (_name, sent, { age, backlog, chance }) => {
    await waited(age, backlog, { handlerSince: 0 })

    await sweep(atChance(chance))

    expect(system.messages.dispatches).toHaveLength(sent)
  })

  it('counts the wait of a task from the last unbroken rounds: after missed ones it sends again for certain', async () => {
    await waited(0, 0, { handlerSince: 0 })
    const memory = createSweepMemory()
    const sentAfter = async (ms: number) => {
      await system.clock.advance(ms)
      const before = system.messages.dispatches.length
      await sweep(atChance(0.999), memory)
      return system.messages.dispatches.length - before
    }

    const first = await sentAfter(60 * MINUTE)
    const unbroken = [await sentAfter(1 * MINUTE), await sentAfter(2 * MINUTE), await sentAfter(2 * MINUTE)]
    const afterMissedOnes = await sentAfter(10 * MINUTE)

    expect(first).toBe(1)
    expect(unbroken).toEqual([1, 0, 0])
    expect(afterMissedOnes).toBe(1)
  })

  it.each([
    ['counts a round though a message is refused for good', false, 1],
    ['does not count a round in which a message was not sent', true, 0],
  ])('%s', async (_name, transient, counted) => {
    await waited(11 * SECOND)
    const dispatch = async () => [{ index: 0, reason: 'refused', transient }]
    const memory = createSweepMemory()

    const report = await sweep({ ...system, messages: { ...system.messages, dispatch } }, memory)

    expect(report).toMatchObject({ repaired: 0, failed: 1 })
    expect(memory.rounds.size).toBe(counted)
  })

  it('sends a task that no worker may claim about six times an hour, so that a new fitting worker waits some minutes', async () => {
    await waited(0)

    for (let minute = 0; minute < 24 * 60; minute++) {
      await system.clock.advance(MINUTE)
      await sweep(system)
    }

    expect(system.messages.dispatches.length).toBeGreaterThan(24 * 4)
    expect(system.messages.dispatches.length).toBeLessThan(24 * 8)
  })

  it.each([
    [
      'whose queue is empty, in as many rounds as it takes to read them',
      { count: 1_500, backlog: 0, minutes: 3 },
    ],
    ['behind a backlog, after ten minutes more', { count: 1_000, backlog: 1, minutes: 30 }],
  ])(
    'sends for certain what many tasks at once have lost: %s',
    async (_name, { count, backlog, minutes }) => {
      await registered(system, { handlerSince: 0 })
      system.messages.backlogs.set('resize', backlog)
      for (let nth = 0; nth < count; nth++) await stored(system, { key: `k${nth}` })
      const sweptFor = async (rounds: number) => {
        for (let round = 0; round < rounds; round++) {
          await system.clock.advance(MINUTE)
          await sweep(atChance(0.999))
        }
        return system.messages.dispatches
      }

      const sent = new Set((await sweptFor(minutes)).map(({ task }) => task.key))
      const afterwards = (await sweptFor(3 * minutes)).length

      expect(sent.size).toBe(count)
      // Recently due tasks are read separately, up to 100 a round.
      expect(afterwards).toBeLessThanOrEqual(2 * count + 100)
    },
  )

  it.each([
    ['whose queue is empty', 0],
    ['without a queue', undefined],
  ])(
    'reads two cursors and three empty pages of each shard of an idle type %s: 3.5 units',
    async (_name, backlog) => {
      await registered(system, { configuration: { kind: 'handler', defaults: {}, shards: 4 } })
      if (backlog !== undefined) system.messages.backlogs.set('resize', backlog)
      const reads = { pages: 0, cursors: 0 }
      const { page, heads } = system.tasks
      const { get } = system.records
      const counted = {
        ...system,
        tasks: {
          ...system.tasks,
          page: (query: Parameters<typeof page>[0]) => {
            if (query.partition.includes('resize')) reads.pages += 1
            return page(query)
          },
          heads: (ids: readonly string[]) => (ids.length > 0 ? expect.unreachable() : heads(ids)),
        },
        records: {
          ...system.records,
          get: (name: string) => {
            if (name.includes('resize')) reads.cursors += 1
            return get(name)
          },
        },
      }

      await sweep(counted)

      expect(reads).toEqual({ pages: 12, cursors: 8 })
    },
  )
})
