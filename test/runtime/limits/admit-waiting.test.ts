import { describe, expect, it } from 'vitest'
import { finish } from '../../../shared/core/run/finish.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import { claimByTickets } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { readyTasks } from '../../../shared/runtime/place/ready.ts'
import { publishMany } from '../../../shared/runtime/publish/publish.ts'
import { SECOND } from '../../support/tasks/a-task.ts'
import {
  aSystemWith,
  blocked,
  dispatchedKeys,
  lookInSeries,
  lookOnce,
  storedAll,
} from '../../support/worlds/limited-system.ts'
import { type MemorySystem, stored, timed } from '../../support/worlds/memory-system.ts'

describe('tasks in the line of a limit', () => {
  it('are dispatched from the front without a write, and stay in the line until they are claimed', async () => {
    const system = await aSystemWith(2)
    const tasks = await storedAll(system, 4)
    await blocked(system, tasks)
    const before = await Promise.all(tasks.map(({ id }) => readTask(system, id)))

    await lookInSeries(system)

    expect(dispatchedKeys(system)).toEqual(['k0', 'k1'])
    expect(await Promise.all(tasks.map(({ id }) => readTask(system, id)))).toEqual(before)
  })

  it('are admitted although no worker can run the first one', async () => {
    const system = await aSystemWith(1)
    const targeted = await stored(system, { key: 'a', options: { workerIds: ['dead'] } })
    const next = await stored(system, { key: 'b' })
    await blocked(system, [targeted, next])

    await serveLimitLook(system, lookOnce)
    const first = dispatchedKeys(system)
    await serveLimitLook(system, lookOnce)

    // A targeted task is never sent to its type's queue: its worker finds it by its marker.
    expect([first, dispatchedKeys(system)]).toEqual([[], ['b']])
  })

  it('are all admitted by concurrent looks, one for each released permit', async () => {
    const system = await aSystemWith(10)
    await blocked(system, await storedAll(system, 30))

    const looks = Array.from({ length: 10 }, () => serveLimitLook(system, lookOnce))
    for (let nth = 0; nth < 40; nth++) await system.clock.advance(20)
    await Promise.all(looks)

    expect(new Set(dispatchedKeys(system)).size).toBe(10)
  })

  it('are found behind tasks that the index still shows after they were claimed', async () => {
    const system = await aSystemWith(60)
    const tasks = await storedAll(system, 60)
    await blocked(system, tasks)
    const partition = 'limit#resize#permit#0'
    const stale = await system.tasks.page({ index: 'place', partition, limit: 100 })
    const taken = new Set(tasks.slice(0, 50).map(({ id }) => id))
    const lagging: MemorySystem = {
      ...system,
      tasks: {
        ...system.tasks,
        heads: async ids => (await system.tasks.heads(ids)).filter(({ id }) => !taken.has(id)),
        page: async query => {
          const start = stale.entries.findIndex(({ id }) => id === query.after?.id) + 1
          const entries = stale.entries.slice(start, start + query.limit)
          return { entries, more: start + query.limit < stale.entries.length }
        },
      },
    }
    await serveLimitLook(lagging, { ...lookOnce, released: 10 })

    expect(dispatchedKeys(system)).toEqual(tasks.slice(50).map(({ key }) => key))
  })

  it('are looked at again soon after some were admitted', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 2))

    await lookInSeries(system)

    expect(system.messages.limitLooks).toMatchObject([{ delaySeconds: 5 }])
  })

  it('are dispatched once more when their messages were lost, first after 4 s and then less and less often', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 1))
    const sentAt: number[] = []
    const begunAt = system.clock.now()
    system.messages.backlogs.set('resize', 0)

    for (let s = 0; s < 64; s++) {
      await lookInSeries(system)
      if (dispatchedKeys(system).length > 0) sentAt.push((system.clock.now() - begunAt) / SECOND)
      await system.clock.advance(SECOND)
    }

    expect(sentAt).toEqual([0, 4, 12, 28, 60])
  })

  it('are found within a minute behind 1,000 tasks that no worker can claim, and then at once', async () => {
    const system = await aSystemWith(1)
    const stuck = await storedAll(system, 1_000)
    const good = await stored(system, { key: 'zz-good' })
    await blocked(system, [...stuck, good])
    system.messages.backlogs.set('resize', 0)
    let foundAt = Number.POSITIVE_INFINITY

    for (let s = 0; s < 60 && foundAt > s; s += 5) {
      await lookInSeries(system)
      if (dispatchedKeys(system).includes('zz-good')) foundAt = s
      await system.clock.advance(5 * SECOND)
    }

    expect(foundAt).toBeLessThan(60)
  })
})

describe('a type that no worker serves for a day', () => {
  it('gets at most a hundred messages for each task in the line of its limit', async () => {
    const system = await aSystemWith(2)
    await blocked(system, await storedAll(system, 20))
    system.messages.backlogs.set('resize', 0)
    let sent = 0

    for (let minute = 0; minute < 1_440; minute++) {
      await lookInSeries(system)
      sent += dispatchedKeys(system).length
      system.messages.backlogs.set('resize', sent)
      system.messages.limitLooks.length = 0
      await system.clock.advance(60 * SECOND)
    }

    expect(sent / 20).toBeLessThan(100)
  })
})

describe('tasks of an ordered type that wait for a permit', () => {
  /** Runs the waker and the planner after each run. Returns the tenants whose tasks were run, in order. */
  async function ranFor(system: MemorySystem): Promise<Array<string | undefined>> {
    const type = (await system.types.get('resize')) as TaskType
    const ran: Array<string | undefined> = []
    const planned = [...(await readyTasks(system, [type], 100).next(100))]
    while (planned.length > 0) {
      const tickets = planned.splice(0)
      const { claimed } = await timed(system, claimByTickets(system, type, { workerId: 'w1' }, tickets))
      for (const { task, run } of claimed) {
        ran.push(task.fairnessKey)
        const word = { born: task.born, fence: run.fence, outcome: 'succeed' as const }
        await transact(system, task, current => finish(current, word, system.clock.now(), 0))
      }
      await system.clock.advance(20)
      const looks = system.messages.limitLooks.splice(0).filter(({ released }) => released !== undefined)
      for (const look of looks) await serveLimitLook(system, look)
      planned.push(...system.messages.dispatches.splice(0).map(({ task }) => task))
    }
    return ran
  }

  it('keep the turns of their tenants', async () => {
    const system = await aSystemWith(1)
    const keys = Array.from({ length: 60 }, (_, nth) => `a${nth}`)
    await publishMany(
      system,
      keys.map(key => ({ type: 'resize', key, fairnessKey: 'a' })),
    )
    await publishMany(system, [{ type: 'resize', key: 'z', fairnessKey: 'b' }])
    system.messages.jobLooks.splice(0)

    const ran = await ranFor(system)

    expect(ran).toHaveLength(61)
    expect(ran.indexOf('b')).toBeLessThan(3)
  })

  it('are all admitted one after the other, and nothing is written to those that wait', async () => {
    const system = await aSystemWith(1, { ordering: 'priority' })
    const tasks = await storedAll(system, 40, { ordering: 'priority' })
    const type = (await system.types.get('resize')) as TaskType
    await timed(system, claimByTickets(system, type, { workerId: 'w1' }, tasks))
    const waiting = (await Promise.all(tasks.map(({ id }) => readTask(system, id)))).filter(
      task => task?.revision === 1,
    )

    expect(waiting).toHaveLength(39)
    expect((await system.limits.line(lookOnce.line)).note?.isClosed).toBe(true)

    const another = await aSystemWith(1, { ordering: 'priority' })
    await storedAll(another, 40, { ordering: 'priority' })
    expect(await ranFor(another)).toHaveLength(40)
  })

  it('are admitted together with those that wait in the place of the limit', async () => {
    const system = await aSystemWith(1, { ordering: 'priority' })
    await storedAll(system, 3, { ordering: 'priority' })
    const arrival = await stored(system, { key: 'earlier' })
    await blocked(system, [arrival])

    for (let nth = 0; nth < 4; nth++) await serveLimitLook(system, lookOnce)

    expect(dispatchedKeys(system).sort()).toEqual(['earlier', 'k0', 'k1', 'k2'])
  })

  it('get no more tickets than they need when their queue holds some', async () => {
    const system = await aSystemWith(5, { ordering: 'priority' })
    await storedAll(system, 9, { ordering: 'priority' })
    await blocked(system, [])
    system.messages.backlogs.set('resize', 9)

    await lookInSeries(system)

    expect(system.messages.dispatches).toEqual([])
    expect(system.messages.limitLooks).toHaveLength(1)
  })

  it('get no tickets in a pause, since it would drop them', async () => {
    const system = await aSystemWith(5, { ordering: 'priority' }, { paused: true })
    await storedAll(system, 3, { ordering: 'priority' })
    await blocked(system, [])

    await lookInSeries(system)

    expect(system.messages.dispatches).toEqual([])
    expect(system.messages.limitLooks).toMatchObject([{ delaySeconds: 15 }])
  })
})
