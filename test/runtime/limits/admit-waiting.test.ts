import { describe, expect, it } from 'vitest'
import { isOfTask } from '../../../shared/core/change/change.ts'
import { throttle } from '../../../shared/core/limits/wait.ts'
import { plan } from '../../../shared/core/plan/plan.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType } from '../../../shared/core/types/task-type.ts'
import { claimByTickets } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { readTask, readTasks } from '../../../shared/runtime/kernel/read-heads.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { publishMany } from '../../../shared/runtime/publish/publish.ts'
import { readyTasks } from '../../../shared/runtime/ready/ready.ts'
import { changeOf, NOW, SECOND } from '../../support/tasks/a-task.ts'
import {
  aSystemWith,
  blocked,
  lookOnce,
  storedAll,
  waitingKeys,
} from '../../support/worlds/limited-system.ts'
import { type MemorySystem, stored } from '../../support/worlds/memory-system.ts'

describe('tasks that wait in the place of a limit', () => {
  it('are admitted although no worker can run the first one', async () => {
    const system = await aSystemWith(1)
    const [targeted, next] = [
      await stored(system, { key: 'a', options: { workerIds: ['dead'] } }),
      await stored(system, { key: 'b' }),
    ]
    await blocked(system, [targeted, next])

    await serveLimitLook(system, lookOnce)
    const afterOne = await waitingKeys(system, [targeted, next])
    await serveLimitLook(system, lookOnce)

    expect([afterOne, await waitingKeys(system, [targeted, next])]).toEqual([['b'], []])
    const heads = (await readTasks(system, [targeted.id, next.id])).map(head => plan(head, NOW))
    expect(heads).toEqual([{ markFor: ['dead'] }, { dispatchAt: NOW }])
    // A targeted task is never sent to its type's queue.
    expect(system.messages.dispatches).toEqual([])
  })

  it('are all admitted by concurrent looks, one for each released permit', async () => {
    const system = await aSystemWith(10)
    const tasks = await storedAll(system, 30)
    await blocked(system, tasks)

    await Promise.all(Array.from({ length: 10 }, () => serveLimitLook(system, lookOnce)))

    expect(await waitingKeys(system, tasks)).toHaveLength(20)
  })

  it('are found behind tasks that the index still shows after they were admitted', async () => {
    const system = await aSystemWith(60)
    const tasks = await storedAll(system, 60)
    await blocked(system, tasks)
    const stale = await system.tasks.page({ index: 'place', partition: 'limit#resize', limit: 100 })
    await serveLimitLook(system, { ...lookOnce, released: 50 })

    const lagging: MemorySystem = {
      ...system,
      tasks: {
        ...system.tasks,
        page: async query => {
          const start = stale.entries.findIndex(({ id }) => id === query.after?.id) + 1
          const entries = stale.entries.slice(start, start + query.limit)
          return { entries, more: start + query.limit < stale.entries.length }
        },
      },
    }
    await serveLimitLook(lagging, { ...lookOnce, released: 10 })

    expect(await waitingKeys(system, tasks)).toEqual([])
  })

  it('are looked at again soon after some were admitted', async () => {
    const system = await aSystemWith(1)
    await blocked(system, await storedAll(system, 2))

    await serveLimitLook(system, { ...lookOnce, emptyLooksInRow: 0 })

    expect(system.messages.limitLooks).toEqual([
      { limit: 'resize', emptyLooksInRow: 0, since: NOW, delaySeconds: 5 },
    ])
  })
})

describe('tasks of an ordered type that wait for a permit', () => {
  /** Runs the waker and the planner after each run. Returns the tenants whose tasks were run, in order. */
  async function ranFor(system: MemorySystem): Promise<Array<string | undefined>> {
    const type = (await system.types.get('resize')) as TaskType
    const planned: Task[] = []
    const apply: typeof system.tasks.apply = async change => {
      if (isOfTask(change) && change.after.operation === 'surface') planned.push(change.after)
      return system.tasks.apply(change)
    }
    const followed = { ...system, tasks: { ...system.tasks, apply } }
    const ran: Array<string | undefined> = []
    planned.push(...(await readyTasks(system, [type], 100).next(100)))
    while (planned.length > 0) {
      const { claimed } = await claimByTickets(followed, type, { workerId: 'w1' }, planned.splice(0))
      for (const { task, run } of claimed) {
        ran.push(task.fairnessKey)
        const word = { born: task.born, fence: run.fence, outcome: 'succeed' as const }
        await transact(followed, task, current => finish(current, word, system.clock.now(), 0))
      }
      const looks = system.messages.limitLooks
        .splice(0)
        .filter(({ emptyLooksInRow }) => emptyLooksInRow === undefined)
      for (const look of looks) await serveLimitLook(followed, look)
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

  it('are all admitted one after the other, whether or not their wait is recorded', async () => {
    const system = await aSystemWith(1, { ordering: 'priority' })
    await storedAll(system, 40, { ordering: 'priority' })

    expect(await ranFor(system)).toHaveLength(40)
  })

  it('are admitted together with those that wait in the place of the limit', async () => {
    const system = await aSystemWith(1, { ordering: 'priority' })
    const ready = await storedAll(system, 3, { ordering: 'priority' })
    const targeted = await stored(system, {
      key: 'targeted',
      ordering: 'priority',
      options: { workerIds: ['w9'] },
    })
    await blocked(system, [...ready, targeted])

    for (let nth = 0; nth < 10; nth++) await serveLimitLook(system, lookOnce)

    expect((await readTask(system, targeted.id))?.operation).toBe('surface')
    expect(system.messages.dispatches.length).toBeGreaterThan(3)
  })

  it('get no more tickets than they need when their queue holds some', async () => {
    const system = await aSystemWith(5, { ordering: 'priority' })
    await storedAll(system, 9, { ordering: 'priority' })
    system.messages.backlogs.set('resize', 9)

    await serveLimitLook(system, { ...lookOnce, emptyLooksInRow: 0 })

    expect(system.messages.dispatches).toEqual([])
    expect(system.messages.limitLooks).toMatchObject([{ emptyLooksInRow: 0, delaySeconds: 15 }])
  })
})

describe('tickets for tasks that wait for a permit', () => {
  it('are not sent in a pause, since it would drop them', async () => {
    const system = await aSystemWith(5, { ordering: 'priority' }, { paused: true })
    await storedAll(system, 3, { ordering: 'priority' })

    await serveLimitLook(system, lookOnce)

    expect(system.messages.dispatches).toEqual([])
  })

  it('are not sent for tasks whose slot lies ahead', async () => {
    const system = await aSystemWith(5, { ordering: 'priority' })
    const [task] = (await storedAll(system, 1, { ordering: 'priority' })) as [Task]
    const slot = { limit: 'resize', at: NOW + 60 * SECOND, rateText: '1/60000' }
    await system.tasks.apply(changeOf(throttle(task, slot, NOW)))

    await serveLimitLook(system, lookOnce)

    expect(system.messages.dispatches).toEqual([])
  })
})
