import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../shared/aws/environment.ts'
import { holderIn, permitsIn, shardsOf } from '../../../shared/core/limits/limits.ts'
import { create } from '../../../shared/core/publish.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeLimits } from '../../../shared/core/types/task-type.ts'
import { hash32 } from '../../../shared/core/values/text.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { publishMany } from '../../../shared/runtime/publish/publish.ts'
import { aMeteredDynamo } from '../../support/dynamo/metered-dynamo.ts'
import { totalOf } from '../../support/dynamo/unit-meter.ts'
import { aPublication, SECOND, taskIn } from '../../support/tasks/a-task.ts'
import { aMemorySystem, registered } from '../../support/worlds/memory-system.ts'

const dynamo = aMeteredDynamo()

/** A time in the past. Each task has a due time of its own, so indexes show all lines in one order. */
const DUE = systemClock.now() - 60 * SECOND

/** A system whose tasks and limits are in DynamoDB, with a type that its processes have read already. */
async function aSystem(limits: TypeLimits) {
  const memory = aMemorySystem()
  const { tasks, limits: limitStore } = await dynamo.newStores()
  const system: System = { ...memory, clock: systemClock, tasks, limits: limitStore }
  const configuration: TaskType['configuration'] = { kind: 'handler', defaults: {}, shards: 1, limits }
  await registered(memory, { configuration })
  const publish = async (key: string): Promise<Task> => {
    const now = systemClock.now()
    return taskIn(await tasks.apply(create(aPublication({ key, dueAt: now }), undefined, now)))
  }
  const claim = (task: Task) => claimTask(system, task, { workerId: 'w1' })
  const run = async (task: Task) => {
    const claimed = await claim(task)
    if ('refused' in claimed) throw new Error(claimed.refused)
    await succeed(system, claimed)
  }
  return { publish, claim, run, limits: limitStore, finish: (claimed: Claimed) => succeed(system, claimed) }
}

async function succeed(system: System, { task, run: { fence } }: Claimed): Promise<void> {
  await transact(system, task, current =>
    finish(current, { born: task.born, fence, outcome: 'succeed' }, systemClock.now(), 0),
  )
}

async function unitsOf(work: () => Promise<unknown>): Promise<number> {
  dynamo.take()
  await work()
  return totalOf(dynamo.take())
}

describe('the turn of a tenant', () => {
  /** A system in DynamoDB with a type over HTTP, and the units that its requests consume. */
  async function anHttpSystem() {
    const memory = aMemorySystem()
    const { tasks, limits, turns } = await dynamo.newStores()
    const system: System = { ...memory, clock: systemClock, tasks, limits, turns }
    await registered(memory, { configuration: { kind: 'http', defaults: {}, shards: 4 } })
    const type = async () => (await system.types.get('resize')) as TaskType
    const publish = (requests: readonly object[]) =>
      publishMany(
        system,
        requests.map(request => ({ type: 'resize', ...request })),
      )
    const claim = async (wanted: number) =>
      (await claimReady(system, [await type()], { workerId: 'w1' }, { wanted })).claimed
    return { system, publish, claim }
  }

  const spentBy = async (work: () => Promise<unknown>) => {
    dynamo.take()
    await work()
    return dynamo.take()
  }

  it('costs one more write and half a unit to read the front; the claim and the end of the task cost nothing more', async () => {
    const { system, publish, claim } = await anHttpSystem()
    const life = async (more: object) => {
      await publish([{ key: 'warm', ifExists: 'restart', ...more }])
      for (const claimed of await claim(1)) await succeed(system, claimed)
      const published = await spentBy(() => publish([more]))
      let claims: Claimed[] = []
      const claimed = await spentBy(async () => {
        claims = await claim(1)
      })
      const ended = await spentBy(() => succeed(system, claims[0] as Claimed))
      return { published, claimed, ended }
    }

    const plain = await life({})
    const fair = await life({ fairnessKey: 'a' })

    expect(plain).toEqual({
      published: { table: 1, view: 1, place: 1 },
      claimed: { table: 1 + 0.5, place: 2 + 0.5 },
      ended: { table: 1, view: 2, place: 1 },
    })
    expect(fair).toEqual({ ...plain, published: { table: 1 + 1 + 0.5, view: 1, place: 1 } })
  })

  it('costs one write for all tasks of a tenant in a batch', async () => {
    const { publish } = await anHttpSystem()
    await publish([{ fairnessKey: 'a' }])

    const { table } = await spentBy(() => publish(Array.from({ length: 20 }, () => ({ fairnessKey: 'a' }))))

    expect(Math.floor(table)).toBe(20 + 1)
  })

  it.each([1, 10])('costs no further read in a claim of %i tasks', async wanted => {
    const spent = []
    for (const more of [{}, { fairnessKey: 'a' }]) {
      const { publish, claim } = await anHttpSystem()
      await publish(Array.from({ length: 100 }, (_, nth) => ({ key: `k${nth}`, dueAt: DUE + nth, ...more })))
      spent.push(await spentBy(() => claim(wanted)))
    }

    expect(spent[1]).toEqual(spent[0])
  })
})

describe('limits cost, in capacity units of claim and finish, reads and writes,', () => {
  it('two writes for a permit, to record and to release it, and a read and a write for a single slot', async () => {
    const spent: Record<string, number> = {}
    for (const [name, limits] of Object.entries({
      none: {},
      concurrency: { concurrency: { max: 3 } },
      rate: { rate: { limit: 50, perMs: SECOND } },
    } satisfies Record<string, TypeLimits>)) {
      const { publish, run } = await aSystem(limits)
      await run(await publish('warm'))
      const task = await publish('one')
      spent[name] = await unitsOf(() => run(task))
    }

    expect(spent).toEqual({ none: 4, concurrency: 6, rate: 6 })
  })

  const shares = [10, 100, 350, 1_000].flatMap(max => [0.5, 0.99].map(share => ({ max, share })))

  it.each(shares)(
    'costs 6 write units under a limit of $max, of which $share are held, if no write is refused',
    async ({ max, share }) => {
      const { publish, run, limits } = await aSystem({ concurrency: { max } })
      const held = Math.min(max - 1, Math.round(max * share))
      const places = shardsOf(max).flatMap(shard => Array<number>(permitsIn(shard, max)).fill(shard))
      const since = systemClock.now() + 60 * SECOND
      // The free permits are where a hash leaves them.
      const order = places
        .map((shard, nth) => ({ shard, nth }))
        .sort((a, b) => hash32(`${a.nth}`) - hash32(`${b.nth}`))
      for (const { shard, nth } of order.slice(0, held)) {
        const holder = holderIn(shard, `holder${String(nth).padStart(10, '0')}`)
        await limits.acquire(
          'resize',
          { holder, taskId: `resize:${String(nth).padStart(26, '0')}`, since },
          8,
        )
      }
      const tasks = await Promise.all(['a', 'b', 'c', 'd'].map(key => publish(key)))
      dynamo.takeByKind()

      for (const task of tasks) await run(task)

      expect(dynamo.takeByKind().writes).toBe(6 * tasks.length)
    },
  )

  it('hardly more than one write for each of a hundred slots that are reserved at once', async () => {
    const { publish, claim } = await aSystem({ rate: { limit: 100, perMs: 600 * SECOND } })
    const tasks: Task[] = []
    for (let nth = 0; nth < 100; nth++) tasks.push(await publish(`k${nth}`))

    const units = await unitsOf(() => Promise.all(tasks.map(claim)))

    expect(units / 100).toBeLessThan(1.2)
  })

  it('no more for a permit that is released while tasks wait, although the stream reports it', async () => {
    const { publish, claim, finish: end } = await aSystem({ concurrency: { max: 1 } })
    const held = await claim(await publish('holder'))
    await claim(await publish('waits'))
    if ('refused' in held) throw new Error(held.refused)

    // The end of the run costs 3, its permit 1.
    expect(await unitsOf(() => end(held))).toBe(4)
  })

  it('two writes to wait for a permit: the note and the place', async () => {
    const { publish, claim } = await aSystem({ concurrency: { max: 1 } })
    await claim(await publish('holder'))
    await claim(await publish('first to wait'))
    const task = await publish('next')

    expect(await unitsOf(() => claim(task))).toBe(2)
  })
})
