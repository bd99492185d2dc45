import { beforeEach, describe, expect, it } from 'vitest'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import type { PartialOptions } from '../../../shared/core/options.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { claimTargets } from '../../../shared/runtime/claim/claim-targets.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { planTasks } from '../../../shared/runtime/plan/plan.ts'
import { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { tasksWithoutMarkers } from '../../../shared/runtime/worker/worker.ts'
import { changeOf, MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

async function targeted(
  workerIds: string[],
  parts: { key?: string; dueAt?: number; options?: PartialOptions } = {},
) {
  const { options, ...rest } = parts
  return stored(system, { ...rest, options: { workerIds, ...options } })
}

async function planned(...args: Parameters<typeof targeted>): Promise<Task> {
  const task = await targeted(...args)
  await planTasks(system, [task])
  return task
}

const claimAs = (workerId: string, limit = 10) => claimTargets(system, { workerId }, ['resize'], limit)
const markersOf = async (workerId: string) =>
  (await system.targets.of(workerId, { limit: 100 })).markers.map(({ taskId }) => taskId)
const change = async (task: Task, decide: (current: Task) => Parameters<typeof changeOf>[0]) => {
  const current = (await readTask(system, task.id)) ?? task
  await system.tasks.apply(changeOf(decide(current)))
}

describe('a targeted task', () => {
  it('is marked for its workers and not dispatched', async () => {
    await planned(['a', 'b'])

    expect(system.messages.dispatches).toEqual([])
    expect(await markersOf('a')).toEqual(['resize:k1'])
    expect(await markersOf('b')).toEqual(['resize:k1'])
  })

  it('is marked by a look when it becomes due', async () => {
    const { id, born, revision } = await planned(['a'], { dueAt: system.clock.now() + 5 * SECOND })
    const before = await markersOf('a')
    const [look] = system.messages.looks

    await system.clock.advance(5 * SECOND)
    await wakeTasks(system, look ? [look] : [])

    expect(look).toEqual({ id, born, revision, hops: 0, delaySeconds: 5 })
    expect(before).toEqual([])
    expect(await markersOf('a')).toEqual([id])
    expect(await claimAs('a')).toHaveLength(1)
  })

  it('is claimed by one of its workers; the other deletes its marker when it reads it', async () => {
    await planned(['a', 'b'])

    const [claimed, others] = [await claimAs('a'), await claimAs('b')]

    expect(claimed).toMatchObject([{ task: { id: 'resize:k1' }, run: { workerId: 'a', fence: 1 } }])
    expect(others).toEqual([])
    expect([await markersOf('a'), await markersOf('b')]).toEqual([[], []])
  })

  it('is marked anew when its run is given back', async () => {
    const task = await planned(['a'])
    const [claimed] = await claimAs('a')

    const { born, fence } = { born: task.born, fence: claimed?.run.fence ?? 0 }
    await finishOverHttp(system, { taskId: task.id, born, fence }, { outcome: 'release' })
    const current = await readTask(system, task.id)
    await planTasks(system, current ? [current] : [])

    expect(await claimAs('a')).toMatchObject([{ run: { fence: 2 } }])
  })

  it('keeps its marker while it is not due, or while the worker is too old', async () => {
    const task = await planned(['a'])
    await planned(['a'], { key: 'newer', options: { minWorkerVersion: '2' } })
    await change(task, current => patch(current, { dueAt: system.clock.now() + MINUTE }, current.updatedAt))

    expect(await claimAs('a')).toEqual([])

    expect(await markersOf('a')).toEqual(['resize:k1', 'resize:newer'])
  })

  it.each<[string, (task: Task) => Parameters<typeof changeOf>[0]]>([
    ['was cancelled', task => cancel(task, task.updatedAt)],
    ['was removed', task => ({ ok: true, change: remove(task, task.updatedAt) })],
    ['is meant for others now', task => patch(task, { options: { workerIds: ['b'] } }, task.updatedAt)],
  ])('loses its marker when it %s', async (_name, decide) => {
    const task = await planned(['a'])
    await change(task, decide)

    expect(await claimAs('a')).toEqual([])

    expect(await markersOf('a')).toEqual([])
  })

  it('that does not exist any more loses its marker', async () => {
    await system.targets.mark({ workerId: 'a', taskId: 'resize:gone', born: 'x', revision: 1 })

    await claimAs('a')

    expect(await markersOf('a')).toEqual([])
  })

  it('of another type is left to the workers of that type', async () => {
    await planned(['a'])

    expect(await claimTargets(system, { workerId: 'a' }, ['crop'], 10)).toEqual([])
    expect(await markersOf('a')).toHaveLength(1)
  })
})

describe('claiming', () => {
  it('takes at most the requested number, in order', async () => {
    const now = system.clock.now()
    for (const n of [3, 1, 2]) await planned(['a'], { key: `${n}`, dueAt: now - MINUTE + n })

    const keys = (await claimAs('a', 2)).map(({ task }) => task.key)

    expect(keys.sort()).toEqual(['1', '2'])
    expect(await markersOf('a')).toEqual(['resize:3'])
  })

  it('finds all of many tasks, though it looks at a hundred at a time', async () => {
    for (let n = 0; n < 250; n++) await planned(['a'], { key: `${n}` })

    let claimed = 0
    for (let round = 0; round < 10; round++) claimed += (await claimAs('a', 100)).length

    expect(claimed).toBe(250)
  })
})

describe('a worker with very many markers', () => {
  const tooNew = { minWorkerVersion: '2' }
  const plan = async (type: string, key: string, options: PartialOptions = {}) =>
    planTasks(system, [await stored(system, { type, key, options: { workerIds: ['a'], ...options } })])

  it('gets to the task that stands behind all it may not take yet', async () => {
    for (let n = 0; n < 1_200; n++) await plan('resize', `${n}`.padStart(4, '0'), tooNew)
    await plan('resize', 'last')

    const claimed: string[] = []
    for (let round = 0; round < 13; round++) {
      claimed.push(...(await claimAs('a')).map(({ task }) => task.key))
    }

    expect(claimed).toEqual(['last'])
  })

  it('gets to the tasks of each type it serves, however many tasks of another type wait', async () => {
    for (let n = 0; n < 150; n++) await plan('crop', `${n}`, tooNew)
    await plan('resize', 'one')
    await plan('sort', 'two')

    const single = await claimAs('a')
    const both = await claimTargets(system, { workerId: 'a' }, ['crop', 'sort'], 10)

    expect([...single, ...both].map(({ task }) => task.key)).toEqual(['one', 'two'])
  })

  it('costs one request once it has few markers', async () => {
    await planned(['a'], { options: tooNew })
    let requests = 0
    const count =
      <Args extends unknown[], Result>(work: (...args: Args) => Result) =>
      (...args: Args) => {
        requests += 1
        return work(...args)
      }
    const { targets, records } = system
    const counting = {
      ...system,
      targets: { ...targets, of: count(targets.of), clear: count(targets.clear) },
      records: { ...records, get: count(records.get), put: count(records.put) },
    }

    await claimTargets(counting, { workerId: 'a' }, ['crop', 'resize', 'sort'], 10)

    expect(requests).toBe(1)
  })
})

describe('the sweeper', () => {
  it('marks a task again that lost its markers, once', async () => {
    await registered(system)
    await targeted(['a', 'b'])
    await planned(['a'], { key: 'marked' })
    await system.clock.advance(20 * SECOND)

    const [first, second] = [await sweep(system), await sweep(system)]

    expect(first).toMatchObject({ repaired: 1 })
    expect(second).toMatchObject({ repaired: 0 })
    expect(await markersOf('a')).toEqual(['resize:k1', 'resize:marked'])
    expect(await markersOf('b')).toEqual(['resize:k1'])
  })

  it('checks 2,000 markers a round, and all of them over the rounds', async () => {
    const workerIds = Array.from({ length: 100 }, (_, n) => `w${n}`)
    const tasks: Task[] = []
    for (let n = 0; n < 30; n++) tasks.push(await targeted(workerIds, { key: `${n}` }))
    const asked: number[] = []
    const among: typeof system.targets.among = async wanted => {
      asked.push(wanted.length)
      return system.targets.among(wanted)
    }
    const counting = { ...system, targets: { ...system.targets, among } }

    const missing = new Set<Task>()
    for (let round = 0; round < 10; round++) {
      for (const task of await tasksWithoutMarkers(counting, tasks)) missing.add(task)
    }

    expect(asked).toEqual(Array(10).fill(2_000))
    expect(missing.size).toBe(30)
  })
})
