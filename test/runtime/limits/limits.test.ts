import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeLimits } from '../../../shared/core/types/task-type.ts'
import { plan } from '../../../shared/core/wake.ts'
import { claimTask, type NotClaimed } from '../../../shared/runtime/claim/claim.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { serveLimitLook } from '../../../shared/runtime/limits/serve-limit-looks.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import { storedAll } from '../../support/worlds/limited-system.ts'
import {
  aMemorySystem,
  beforeWrites,
  type MemorySystem,
  noAnswer,
  registered,
  stored,
  timed,
} from '../../support/worlds/memory-system.ts'

async function aLimitedSystem(limits: TypeLimits, parts: Partial<TaskType> = {}): Promise<MemorySystem> {
  const system = aMemorySystem()
  await registered(system, { configuration: { kind: 'handler', defaults: {}, shards: 1, limits }, ...parts })
  return system
}

/** The outcome of a claim. The clock moves on while the claim waits. */
function claim(system: MemorySystem, task: Task, workerId = 'w1', on: System = system) {
  return timed(system, claimTask(on, task, { workerId }))
}

const refusalOf = (outcome: Claimed | NotClaimed) => ('refused' in outcome ? outcome.refused : undefined)

async function head(system: MemorySystem, { id }: Task): Promise<Task> {
  const task = await readTask(system, id)
  if (!task) throw new Error(`no ${id}`)
  return task
}

/** Delivers the pending looks of the series now. */
async function lookAgain(system: MemorySystem): Promise<void> {
  for (const look of system.messages.limitLooks.splice(0)) await serveLimitLook(system, look)
}

describe('a rate limit', () => {
  it('makes a task wait in its line without a booking, and is not asked again before the next slot is near', async () => {
    const system = await aLimitedSystem({ rate: { limit: 1, perMs: 10_000 } })
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]

    const outcomes = [await claim(system, first), await claim(system, second)]
    const waiting = await head(system, second)

    expect(outcomes.map(refusalOf)).toEqual([undefined, 'rate-limit'])
    expect(waiting).toMatchObject({ operation: 'throttle', wait: { kind: 'slot', limit: 'resize' } })
    expect(plan(waiting, system.clock.now())).toEqual({})
    expect((await system.limits.slots('resize')).log?.granted).toBe(1)
    // The look comes one to two seconds before the slot.
    expect(system.messages.limitLooks).toMatchObject([{ line: waiting.wait, delaySeconds: 9 }])
    await system.clock.advance(10_000)
    expect(refusalOf(await claim(system, waiting))).toBeUndefined()
    expect((await head(system, second)).wait).toBeUndefined()
  })

  it('makes a claim wait in place for a near slot, without a write', async () => {
    const system = await aLimitedSystem({ rate: { limit: 1, perMs: 500 } })
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    const begin = await claim(system, first)

    const next = await claim(system, second)

    const startOf = (outcome: Claimed | NotClaimed) => ('run' in outcome ? outcome.run.startedAt : 0)
    expect(startOf(next) - startOf(begin)).toBeGreaterThanOrEqual(500)
    expect((await head(system, second)).revision).toBe(2)
  })

  it('lets a task start that was dispatched late, since no slot was booked for it', async () => {
    const system = await aLimitedSystem({ rate: { limit: 1, perMs: 10_000 } })
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    await claim(system, first)
    await claim(system, second)

    await system.clock.advance(15_000)

    expect(refusalOf(await claim(system, await head(system, second)))).toBeUndefined()
  })

  it('counts all tasks that its type serves: the steps of flows and the flow itself', async () => {
    const system = await aLimitedSystem({ rate: { limit: 1, perMs: 10_000, key: 'userId' } })
    const [first, second, third] = (await storedAll(system, 3, { userId: 'u' })) as [Task, Task, Task]
    const other = await stored(system, { key: 'other', userId: 'v' })

    const outcomes = await Promise.all([first, second, third, other].map(task => claim(system, task)))

    expect(outcomes.map(refusalOf).filter(one => one === 'rate-limit')).toHaveLength(2)
    expect(refusalOf(outcomes[3] as Claimed)).toBeUndefined()
  })
})

describe('a concurrency limit', () => {
  const ONE = { concurrency: { max: 1 } }

  it('makes a task wait in its place, and the end of a run sends the waker a look', async () => {
    const system = await aLimitedSystem(ONE)
    const [first, second] = (await storedAll(system, 2)) as [Task, Task]
    const begun = await claim(system, first)

    const refused = await claim(system, second)
    const waiting = await head(system, second)

    expect([refusalOf(begun), refusalOf(refused)]).toEqual([undefined, 'concurrency-limit'])
    expect(waiting).toMatchObject({ operation: 'block', place: { name: 'limit#resize#permit#0' } })
    expect(plan(waiting, system.clock.now())).toEqual({})
    // The first look of the series has been sent. The series continues as long as a task waits.
    const line = { kind: 'permit', limit: 'resize' }
    expect(system.messages.limitLooks).toMatchObject([
      { line, at: waiting.updatedAt + SECOND, delaySeconds: 1 },
    ])
  })

  it('admits the first waiting task when a run is lost', async () => {
    const system = await aLimitedSystem(ONE)
    const [first, second, third] = (await storedAll(system, 3)) as [Task, Task, Task]
    await claim(system, first)
    for (const task of [second, third]) await claim(system, task)
    system.messages.limitLooks.splice(0)

    await system.clock.advance(MINUTE)
    const { id, born } = first
    await wakeTasks(system, [{ id, born, revision: 0, hops: 0, delaySeconds: 0 }])
    for (const look of system.messages.limitLooks) await serveLimitLook(system, look)

    const line = { kind: 'permit', limit: 'resize' }
    expect(system.messages.limitLooks).toEqual([{ line, released: 1, shards: [0], delaySeconds: 0 }])
    expect(system.messages.dispatches).toMatchObject([
      { task: { key: second.key }, freed: { limit: 'resize', shard: 0 } },
    ])
    expect((await head(system, third)).wait).toBeDefined()
    expect(refusalOf(await claim(system, await head(system, second)))).toBeUndefined()
  })

  it('frees a permit whose holder died before its claim, and admits the next task', async () => {
    const system = await aLimitedSystem(ONE)
    const [dead, waiting] = (await storedAll(system, 2)) as [Task, Task]
    await system.limits.acquire('resize', { holder: 'h', taskId: dead.id, since: NOW }, 1)
    await claim(system, waiting)

    await system.clock.advance(15 * SECOND)
    await lookAgain(system)

    expect((await system.limits.permits('resize', [0])).holders).toEqual([])
    expect(system.messages.dispatches.map(({ task }) => task.key)).toEqual([waiting.key])
  })

  it('keeps the permits of live runs, however long they take', async () => {
    const system = await aLimitedSystem(ONE)
    const [running, waiting] = (await storedAll(system, 2)) as [Task, Task]
    await claim(system, running)
    await claim(system, waiting)

    await system.clock.advance(10 * MINUTE)
    await lookAgain(system)

    expect((await system.limits.permits('resize', [0])).holders).toHaveLength(1)
    expect((await head(system, waiting)).operation).toBe('block')
  })

  it('admits all waiting tasks after it was removed', async () => {
    const system = await aLimitedSystem(ONE)
    const tasks = await storedAll(system, 4)
    for (const task of tasks) await claim(system, task)
    const type = await system.types.get('resize')
    if (!type) throw new Error('no type')
    await system.types.put(
      { ...type, version: 2, configuration: { ...type.configuration, limits: {} } },
      type.version,
    )
    await system.clock.advance(2 * SECOND)

    await lookAgain(system)

    expect(system.messages.dispatches).toHaveLength(3)
  })

  it('gets its permit back when the store fails and a claim is not written', async () => {
    const system = await aLimitedSystem(ONE)
    const task = await stored(system)

    await expect(claimTask(beforeWrites(system, noAnswer), task, { workerId: 'w1' })).rejects.toThrow(
      'no answer',
    )

    expect((await system.limits.permits('resize', [0])).holders).toEqual([])
  })
})

describe('a pause', () => {
  it('that was acknowledged during a claim releases it before its handler begins', async () => {
    const system = await aLimitedSystem({})
    const task = await stored(system)
    const type = await system.types.get('resize')
    if (!type) throw new Error('no type')
    const slow = beforeWrites(system, async ({ operation }) => {
      if (operation !== 'claim') return
      await system.types.put({ ...type, paused: true, version: 2 }, type.version)
      await system.clock.sleep(1_600)
    })

    const outcome = await claim(system, task, 'w1', slow)

    expect(refusalOf(outcome)).toBe('paused')
    expect(await head(system, task)).toMatchObject({ operation: 'release', live: {}, failures: 0 })
  })
})
