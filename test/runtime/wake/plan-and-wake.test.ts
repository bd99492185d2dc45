import { beforeEach, describe, expect, it } from 'vitest'
import { remove } from '../../../shared/core/operate/operate.ts'
import { create } from '../../../shared/core/publish.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { planTasks } from '../../../shared/runtime/plan/plan.ts'
import { wakeMinute, wakeMinuteShard, wakeTasks } from '../../../shared/runtime/wake.ts'
import { aPublication, LATER_BORN, MINUTE, SECOND, taskIn } from '../../support/tasks/a-task.ts'
import { aMemorySystem, claimed, type MemorySystem, stored } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

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
      'due later: its minute gets an EventBridge schedule, and no message is sent',
      15 * MINUTE + 1,
      { delays: [], minutes: 1 },
    ],
  ])('%s', async (_name, delayMs, { delays, minutes }) => {
    const task = await stored(system, { dueAt: system.clock.now() + delayMs })

    await planTasks(system, [task])

    expect(system.messages.dispatches.map(({ delaySeconds }) => delaySeconds)).toEqual(delays)
    expect(system.timers.minutes.size).toBe(minutes)
  })

  it('asks for one EventBridge schedule for all tasks of a minute', async () => {
    const dueAt = Math.ceil((system.clock.now() + 30 * MINUTE) / MINUTE) * MINUTE
    const tasks = await Promise.all([1, 2, 3].map(i => stored(system, { key: `far-${i}`, dueAt: dueAt + i })))

    await planTasks(system, tasks)

    expect(system.timers.minutes.size).toBe(1)
  })

  it('names the tasks whose message could not be sent, and sends the others', async () => {
    const [good, bad] = [await stored(system, { key: 'good' }), await stored(system, { key: 'bad' })]
    const messages = {
      ...system.messages,
      dispatch: async () => [{ index: 1, reason: 'no room', transient: false }],
    }

    const failures = await planTasks({ ...system, messages }, [good, bad])

    expect(failures).toEqual([{ id: 'resize:bad', reason: 'no room', transient: false }])
  })

  it('sends a look for the end of a lease, rounded up', async () => {
    const task = await claimed(system, await stored(system))

    await planTasks(system, [task])

    expect(system.messages.looks).toEqual([{ ...lookAt(task), delaySeconds: 16 }])
    expect(system.messages.dispatches).toEqual([])
  })
})

describe('a look', () => {
  it('at a run whose lease has moved is sent again for the new end, one hop later', async () => {
    const task = await claimed(system, await stored(system))
    await system.clock.advance(10 * SECOND)
    const beat = heartbeat(task, { born: task.born, fence: 1 }, system.clock.now())
    if (beat.ok) await system.tasks.apply(beat.change)
    await system.clock.advance(5_500)

    await wakeTasks(system, [lookAt(task, 4)])

    expect(system.messages.looks).toEqual([{ ...lookAt(task, 5), delaySeconds: 10 }])
    expect((await readTask(system, task.id))?.live[1]).toBeDefined()
  })

  it('next to an older one in the same batch sends one next look, whichever is delivered last', async () => {
    const task = await claimed(system, await stored(system))
    const older = { ...lookAt(task), revision: task.revision - 1 }

    await wakeTasks(system, [lookAt(task), older])
    await wakeTasks(system, [older, lookAt(task, 1)])

    expect(system.messages.looks.map(({ revision }) => revision)).toEqual([task.revision, task.revision])
  })

  it('whose revision an eventually consistent read does not show yet reads the head again', async () => {
    const task = await claimed(system, await stored(system))
    const lagging = { ...system, tasks: { ...system.tasks, heads: async () => [] } }

    await wakeTasks(lagging, [lookAt(task)])

    expect(system.messages.looks).toHaveLength(1)
  })

  it('planned on an older revision does not multiply: the newer plan has its own', async () => {
    const task = await claimed(system, await stored(system))

    await wakeTasks(system, [{ ...lookAt(task), revision: task.revision - 1 }])

    expect(system.messages.looks).toEqual([])
  })

  it('at another birth does nothing', async () => {
    const first = await claimed(system, await stored(system))
    const removed = taskIn(await system.tasks.apply(remove(first, system.clock.now())))
    const again = create(aPublication({ born: LATER_BORN }), removed, system.clock.now())
    await system.tasks.apply(again)
    await system.clock.advance(MINUTE)

    await wakeTasks(system, [lookAt(first)])

    expect(await readTask(system, first.id)).toEqual(again.after)
    expect(system.messages.looks).toEqual([])
  })

  it('that was sent again too often ends its chain, and is logged', async () => {
    const task = await claimed(system, await stored(system))

    await wakeTasks(system, [lookAt(task, 100_000)])

    expect(system.messages.looks).toEqual([])
    expect(system.counted('LookLoop')).toBe(1)
  })
})

describe('a far minute', () => {
  const due = (system: MemorySystem) => Math.ceil((system.clock.now() + 30 * MINUTE) / MINUTE) * MINUTE

  it('is dispatched as a whole, with delays to the second, when its EventBridge schedule fires', async () => {
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
})
