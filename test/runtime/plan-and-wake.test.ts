import { describe, expect, it } from 'vitest'
import { claim } from '../../shared/core/claim.ts'
import { heartbeat } from '../../shared/core/heartbeat.ts'
import { remove } from '../../shared/core/operate.ts'
import { create } from '../../shared/core/publish.ts'
import type { Task } from '../../shared/core/task.ts'
import { planTasks } from '../../shared/runtime/plan-tasks.ts'
import { type Rounds, sweep } from '../../shared/runtime/sweep.ts'
import { wakeMinute, wakeMinuteShard, wakeTasks } from '../../shared/runtime/wake-tasks.ts'
import { aPublication, changeOf, LATER_BORN, MINUTE, SECOND } from '../support/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../support/memory-system.ts'

async function claimed(system: MemorySystem, task: Task): Promise<Task> {
  const applied = await system.tasks.apply(changeOf(claim(task, { workerId: 'w1' }, system.clock.now())))
  if (!applied.applied) throw new Error('not claimed')
  return applied.task
}

function lookAt({ id, born, revision }: Task, hops = 0) {
  return { id, born, revision, hops, delaySeconds: 0 }
}

describe('planning', () => {
  it.each([
    ['due now', 0, { delays: [0], minutes: 0 }],
    [
      'due in 3.4 s: the message is delayed by whole seconds, the worker waits out the rest',
      3_400,
      { delays: [3], minutes: 0 },
    ],
    ['due in 15 minutes', 15 * MINUTE, { delays: [900], minutes: 0 }],
    [
      'due later: its minute gets a schedule and nothing is sent',
      15 * MINUTE + 1,
      { delays: [], minutes: 1 },
    ],
  ])('%s', async (_name, delayMs, { delays, minutes }) => {
    const system = aMemorySystem()
    const task = await stored(system, { dueAt: system.clock.now() + delayMs })

    await planTasks(system, [task])

    expect(system.messages.dispatches.map(({ delaySeconds }) => delaySeconds)).toEqual(delays)
    expect(system.timers.minutes.size).toBe(minutes)
  })

  it('asks for one schedule for all tasks of a minute', async () => {
    const system = aMemorySystem()
    const dueAt = Math.ceil((system.clock.now() + 30 * MINUTE) / MINUTE) * MINUTE
    const tasks = await Promise.all([1, 2, 3].map(i => stored(system, { key: `far-${i}`, dueAt: dueAt + i })))

    await planTasks(system, tasks)

    expect(system.timers.minutes.size).toBe(1)
  })

  it('names the tasks whose message could not be sent, and sends the others', async () => {
    const system = aMemorySystem()
    const [good, bad] = [await stored(system, { key: 'good' }), await stored(system, { key: 'bad' })]
    const messages = {
      ...system.messages,
      dispatch: async () => [{ index: 1, reason: 'no room', transient: false }],
    }

    const failures = await planTasks({ ...system, messages }, [good, bad])

    expect(failures).toEqual([{ id: 'resize:bad', reason: 'no room', transient: false }])
  })

  it('arms a look for the end of a lease, rounded up', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))

    await planTasks(system, [task])

    expect(system.messages.looks).toEqual([{ ...lookAt(task), delaySeconds: 16 }])
    expect(system.messages.dispatches).toEqual([])
  })
})

describe('a look', () => {
  it('at a run whose lease has ended records it as lost', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))
    await system.clock.advance(15_500)

    await wakeTasks(system, [lookAt(task)])

    const after = await system.tasks.head(task.id)
    expect(after).toMatchObject({ state: 'open', live: {}, failures: 1, operation: 'lose' })
    expect(system.counted('LeaseLost')).toBe(1)
  })

  it('at a run whose lease has moved is armed anew for the new end, one hop later', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))
    await system.clock.advance(10 * SECOND)
    const beat = heartbeat(task, { born: task.born, fence: 1 }, system.clock.now())
    if (beat.ok) await system.tasks.apply(beat.change)
    await system.clock.advance(5_500)

    await wakeTasks(system, [lookAt(task, 4)])

    expect(system.messages.looks).toEqual([{ ...lookAt(task, 5), delaySeconds: 10 }])
    expect((await system.tasks.head(task.id))?.live[1]).toBeDefined()
  })

  it('beside an older one in the same batch is armed anew, whichever stands last', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))
    const older = { ...lookAt(task), revision: task.revision - 1 }

    await wakeTasks(system, [lookAt(task), older])
    await wakeTasks(system, [older, lookAt(task)])

    expect(system.messages.looks.map(({ revision }) => revision)).toEqual([task.revision, task.revision])
  })

  it('that the cheap read does not show yet is looked up once more', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))
    const lagging = { ...system, tasks: { ...system.tasks, heads: async () => [] } }

    await wakeTasks(lagging, [lookAt(task)])

    expect(system.messages.looks).toHaveLength(1)
  })

  it('planned on an older revision does not multiply: the newer plan has its own', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))

    await wakeTasks(system, [{ ...lookAt(task), revision: task.revision - 1 }])

    expect(system.messages.looks).toEqual([])
  })

  it('at another birth dies', async () => {
    const system = aMemorySystem()
    const first = await claimed(system, await stored(system))
    const removed = await system.tasks.apply(remove(first, system.clock.now()))
    if (!removed.applied) throw new Error('not removed')
    const again = create(aPublication({ born: LATER_BORN }), removed.task, system.clock.now())
    await system.tasks.apply(again)
    await system.clock.advance(MINUTE)

    await wakeTasks(system, [lookAt(first)])

    expect(await system.tasks.head(first.id)).toEqual(again.after)
    expect(system.messages.looks).toEqual([])
  })

  it('that was armed too often stops, and says so', async () => {
    const system = aMemorySystem()
    const task = await claimed(system, await stored(system))

    await wakeTasks(system, [lookAt(task, 100_000)])

    expect(system.messages.looks).toEqual([])
    expect(system.counted('LookLoop')).toBe(1)
  })
})

describe('a far minute', () => {
  const due = (system: MemorySystem) => Math.ceil((system.clock.now() + 30 * MINUTE) / MINUTE) * MINUTE

  it('is dispatched as a whole, with delays to the second, when its schedule fires', async () => {
    const system = aMemorySystem()
    const dueAt = due(system)
    const keys = Array.from({ length: 250 }, (_, i) => `far-${i}`)
    for (const [i, key] of keys.entries()) await stored(system, { key, dueAt: dueAt + i * 100 })
    await system.clock.advance(dueAt - 100 * SECOND - system.clock.now())

    await wakeMinute(system, dueAt / MINUTE)
    for (const look of system.messages.minuteLooks.slice())
      await wakeMinuteShard(system, look, Number.POSITIVE_INFINITY)

    const sent = system.messages.dispatches
    expect(sent.map(({ task }) => task.key).sort()).toEqual(keys.sort())
    for (const { task, delaySeconds } of sent) {
      expect(delaySeconds).toBe(Math.floor((task.dueAt - system.clock.now()) / SECOND))
    }
  })

  it('goes on in a message of its own when the time of the function ends', async () => {
    const system = aMemorySystem()
    const dueAt = due(system)
    await stored(system, { dueAt })

    await wakeMinuteShard(system, { minute: dueAt / MINUTE, shard: 3 }, system.clock.now())

    expect(system.messages.minuteLooks).toEqual([{ minute: dueAt / MINUTE, shard: 3 }])
  })
})

describe('the sweeper', () => {
  it('plans again what fell due and was not looked at, where the queue is empty', async () => {
    const system = aMemorySystem()
    await registered(system)
    system.messages.backlogs.set('resize', 0)
    const task = await stored(system)
    await system.clock.advance(11 * SECOND)

    const report = await sweep(system)

    expect(report).toEqual({ looked: 1, repaired: 1, failed: 0 })
    expect(system.messages.dispatches.map(({ task: sent }) => sent.id)).toEqual([task.id])
    expect(system.counted('SweeperRepaired')).toBe(1)
  })

  it.each([
    ['a healthy backlog', 1, 11 * SECOND, 0],
    ['no queue: no handler is deployed', undefined, 11 * SECOND, 0],
    ['what fell due only just', 0, 5 * SECOND, 0],
    ['a backlog older than messages live', 1, 4 * 24 * 60 * MINUTE + 11 * SECOND, 1],
  ])('leaves alone or repairs: %s', async (_name, backlog, after, repaired) => {
    const system = aMemorySystem()
    await registered(system)
    if (backlog !== undefined) system.messages.backlogs.set('resize', backlog)
    await stored(system)
    await system.clock.advance(after)

    expect(await sweep(system)).toMatchObject({ repaired })
  })

  it('finds a lost dispatch of a webhook type, whose tasks go through the queue of the shipped one', async () => {
    const system = aMemorySystem()
    await registered(system, { type: 'notify', configuration: { kind: 'webhook', defaults: {}, shards: 1 } })
    system.messages.backlogs.set('webhook', 0)
    const task = await stored(system, { type: 'notify', kind: 'webhook' })
    await system.clock.advance(11 * SECOND)

    await sweep(system)

    expect(system.messages.dispatches.map(({ task: sent }) => sent.id)).toEqual([task.id])
  })

  it('finds a run whose look was lost', async () => {
    const system = aMemorySystem()
    await registered(system)
    system.messages.backlogs.set('resize', 5)
    const task = await claimed(system, await stored(system))
    await system.clock.advance(30 * SECOND)

    await sweep(system)

    expect(system.messages.looks.map(({ id }) => id)).toEqual([task.id])
  })

  it('finds a delayed task of an HTTP type that was never moved to its ready place', async () => {
    const system = aMemorySystem()
    await registered(system, { configuration: { kind: 'http', defaults: {}, shards: 1 } })
    const parts = { kind: 'http', ordering: 'priority' } as const
    const late = await stored(system, { ...parts, key: 'late', dueAt: system.clock.now() + 5 * SECOND })
    await stored(system, { ...parts, key: 'open' })
    await system.clock.advance(20 * SECOND)

    await sweep(system)

    expect(system.messages.looks.map(({ id }) => id)).toEqual([late.id])
  })

  it('renews the input of a task that waits for weeks before it would expire', async () => {
    const system = aMemorySystem()
    await registered(system)
    const task = await stored(system, { input: 'x'.repeat(1_000) })
    await system.clock.advance(36 * 24 * 60 * MINUTE)

    await sweep(system)

    const after = await system.tasks.head(task.id)
    const [before, renewed] = [task.input, after?.input]
    if (!before || !renewed || !('ref' in before) || !('ref' in renewed))
      throw new Error('the input stands apart')
    expect(renewed.expiresAt).toBeGreaterThan(before.expiresAt)
    expect(renewed.ref).toBe(before.ref)
  })

  it('leaves the input of a task with a short retention alone once it is renewed', async () => {
    const system = aMemorySystem()
    await registered(system)
    const options = { retentionMs: 24 * 60 * MINUTE }
    const task = await stored(system, { input: 'x'.repeat(1_000), options })
    await system.clock.advance(26 * 24 * 60 * MINUTE)

    for (let round = 0; round < 5; round++) await sweep(system)

    expect((await system.tasks.head(task.id))?.revision).toBe(task.revision + 1)
  })

  it('sweeps the other types when one cannot be swept', async () => {
    const system = aMemorySystem()
    await registered(system, { type: 'broken' })
    await registered(system)
    system.messages.backlogs.set('resize', 0)
    await stored(system)
    await system.clock.advance(11 * SECOND)
    const messages = {
      ...system.messages,
      backlog: (type: string) =>
        type === 'broken' ? Promise.reject(new Error('no answer')) : system.messages.backlog(type),
    }

    const report = await sweep({ ...system, messages })

    expect(report).toEqual({ looked: 1, repaired: 1, failed: 1 })
  })

  it('dispatches what waited for days as soon as its handler is deployed', async () => {
    const system = aMemorySystem()
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
    ['ever more rarely behind a backlog', 0, { age: 24 * 60 * MINUTE, backlog: 1, chance: 0.007 }],
    ['without end', 1, { age: 24 * 60 * MINUTE, backlog: 1, chance: 0.006 }],
  ])('sends a task that waits again: %s', async (_name, sent, { age, backlog, chance }) => {
    const system = aMemorySystem()
    await registered(system, { handlerSince: 0 })
    system.messages.backlogs.set('resize', backlog)
    await stored(system)
    await system.clock.advance(age)

    await sweep({ ...system, chance: { ...system.chance, fraction: () => chance } })

    expect(system.messages.dispatches).toHaveLength(sent)
  })

  it('counts how long a task waits from when rounds get through: after missed ones it sends again for certain', async () => {
    const system = aMemorySystem()
    await registered(system, { handlerSince: 0 })
    system.messages.backlogs.set('resize', 0)
    await stored(system)
    const unlucky = { ...system, chance: { ...system.chance, fraction: () => 0.999 } }
    const rounds: Rounds = new Map()
    const sentAfter = async (ms: number) => {
      await system.clock.advance(ms)
      const before = system.messages.dispatches.length
      await sweep(unlucky, rounds)
      return system.messages.dispatches.length - before
    }

    const first = await sentAfter(60 * MINUTE)
    const unbroken = [await sentAfter(1 * MINUTE), await sentAfter(2 * MINUTE), await sentAfter(2 * MINUTE)]
    const afterMissedOnes = await sentAfter(10 * MINUTE)

    expect(first).toBe(1)
    expect(unbroken).toEqual([1, 0, 0])
    expect(afterMissedOnes).toBe(1)
  })

  it('sends what nobody may claim about six times an hour, so that a fit worker that comes waits some minutes', async () => {
    const system = aMemorySystem()
    await registered(system)
    system.messages.backlogs.set('resize', 0)
    await stored(system)

    for (let minute = 0; minute < 24 * 60; minute++) {
      await system.clock.advance(MINUTE)
      await sweep(system)
    }

    expect(system.messages.dispatches.length).toBeGreaterThan(24 * 4)
    expect(system.messages.dispatches.length).toBeLessThan(24 * 8)
  })

  it('repairs behind a backlog that never ends', async () => {
    const system = aMemorySystem()
    await registered(system)
    system.messages.backlogs.set('resize', 1)
    await stored(system)

    for (let minute = 0; minute < 12; minute++) {
      await system.clock.advance(MINUTE)
      await sweep(system)
    }

    expect(system.messages.dispatches.length).toBeGreaterThan(0)
  })

  it('reads a bounded number of tasks a round, however many wait, and gets through all of them', async () => {
    const system = aMemorySystem()
    await registered(system)
    system.messages.backlogs.set('resize', 1_000)
    for (let i = 0; i < 400; i++)
      await stored(system, { key: `k${i}`, dueAt: system.clock.now() - 20 * MINUTE + i })
    await system.clock.advance(MINUTE)

    const rounds = []
    for (let i = 0; i < 9; i++) rounds.push((await sweep(system)).looked)

    expect(Math.max(...rounds)).toBeLessThanOrEqual(50)
    expect(rounds.slice(0, 8).reduce((sum, looked) => sum + looked)).toBe(400)
  })
})
