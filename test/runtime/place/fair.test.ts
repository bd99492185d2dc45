import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { TaskType, TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import { hash32 } from '../../../shared/core/values/text.ts'
import { defineTask } from '../../../shared/define/define-task.ts'
import { createTicketClaimer } from '../../../shared/runtime/claim/claim-by-ticket.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import { serveDispatches } from '../../../shared/runtime/dispatch/serve-dispatches.ts'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import { readTask, readTasks } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { patchTask } from '../../../shared/runtime/operate/patch-task.ts'
import { publishMany } from '../../../shared/runtime/publish/publish.ts'
import type { PublishRequest } from '../../../shared/runtime/publish/resolve-publication.ts'
import { cachedTypeReader } from '../../../shared/runtime/types/type-cache.ts'
import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { MINUTE, SECOND, taskIn } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, timed } from '../../support/worlds/memory-system.ts'

const LARGE = 'large'
const SMALL = Array.from({ length: 40 }, (_, nth) => `small-${nth}`)
/** Names with the same hash modulo 16 as `large`. */
const COLLIDING = Array.from({ length: 2_000 }, (_, nth) => `tenant-${nth}`)
  .filter(name => hash32(name) % 16 === hash32(LARGE) % 16)
  .slice(0, 40)
/** With exact turns, this many claims take two tasks of each of the 41 tenants. */
const EXACT_TURNS = 82

async function aSystem(parts: Partial<TypeConfiguration> = {}): Promise<MemorySystem> {
  const system = aMemorySystem()
  await registered(system, { configuration: { kind: 'http', defaults: {}, shards: 4, ...parts } })
  return system
}

let keys = 0
/** Publishes this many tasks of each tenant, one tenant after the other, in batches some milliseconds apart. */
async function publishFor(system: MemorySystem, tenants: readonly string[], count: number, more = {}) {
  const requests: PublishRequest[] = tenants.flatMap(tenant =>
    Array.from({ length: count }, () => {
      keys += 1
      const named = tenant !== '' && { fairnessKey: tenant }
      return { type: 'resize', key: `k${keys}`, userId: `u-${keys}`, ...named, ...more }
    }),
  )
  for (let start = 0; start < requests.length; start += 100) {
    const outcomes = await publishMany(system, requests.slice(start, start + 100))
    for (const outcome of outcomes) if (!outcome.ok) throw new Error(outcome.reason)
    await system.clock.advance(5)
  }
}

async function claim(system: System, wanted: number, workerId = 'w1'): Promise<Claimed[]> {
  const type = (await system.types.get('resize')) as TaskType
  return (await claimReady(system, [type], { workerId }, { wanted })).claimed
}

const tenantsOf = (claims: readonly Claimed[]) => claims.map(({ task }) => task.fairnessKey ?? '')

/** The tenants of the first claims of one claimer, in order. */
async function claimedTenants(system: System, count: number, wanted = 10): Promise<string[]> {
  const tenants: string[] = []
  while (tenants.length < count) {
    const claims = await claim(system, Math.min(wanted, count - tenants.length), `w${tenants.length}`)
    if (claims.length === 0) break
    tenants.push(...tenantsOf(claims))
  }
  return tenants
}

/** Calls take varying times, so that the calls of several claimers interleave. */
function unsteady(system: MemorySystem, seed: number, onClaim: (task: Task) => void): System {
  const chance = createSeededChance(seed)
  const pause = async () => {
    for (let hops = Math.floor(chance.fraction() * 12); hops > 0; hops--) await Promise.resolve()
  }
  const { tasks } = system
  return {
    ...system,
    chance,
    tasks: {
      ...tasks,
      apply: async change => {
        await pause()
        const applied = await tasks.apply(change)
        if (applied.applied && change.after.operation === 'claim') onClaim(taskIn(applied))
        await pause()
        return applied
      },
      page: async query => {
        await pause()
        return tasks.page(query)
      },
      heads: async ids => {
        await pause()
        return readTasks({ tasks }, ids)
      },
    },
  }
}

describe('tenants take turns', () => {
  it.each([
    ['with any names', SMALL],
    ['with names that share a hash', COLLIDING],
  ])(
    '%s: the two tasks of each small tenant come before the thousand tasks of a large one',
    async (_name, small) => {
      const system = await aSystem()
      await publishFor(system, [LARGE], 1_000)
      await publishFor(system, small, 2)

      const tenants = await claimedTenants(system, 120)

      expect(small).toHaveLength(40)
      expect(tenants.slice(0, EXACT_TURNS).filter(name => name !== LARGE)).toHaveLength(80)
      expect(tenants.slice(EXACT_TURNS)).toEqual(Array(38).fill(LARGE))
    },
  )

  it('and all tasks without a tenant count as one more tenant', async () => {
    const system = await aSystem()
    await publishFor(system, ['a'], 1)
    await publishFor(system, [''], 300)
    await publishFor(system, ['b'], 2)

    expect(await claimedTenants(system, 5)).toEqual(expect.arrayContaining(['a', 'b', 'b']))
  })

  it.each([
    [4, 10],
    [8, 1],
  ])(
    'to within two for each claim in progress, with %i claimers of %i tasks at a time',
    async (claimers, each) => {
      for (const seed of [1, 2, 3]) {
        const memory = await aSystem()
        await publishFor(memory, [LARGE], 400)
        await publishFor(memory, COLLIDING, 2)
        const tenants: string[] = []
        const system = unsteady(memory, seed, task => tenants.push(task.fairnessKey ?? ''))
        const bound = EXACT_TURNS + 2 * claimers * each

        await Promise.all(
          Array.from({ length: claimers }, async (_, nth) => {
            while (tenants.length < bound) await claim(system, each, `w${nth}-${tenants.length}`)
          }),
        )

        expect(tenants.slice(0, bound).filter(name => name !== LARGE)).toHaveLength(80)
      }
    },
  )

  it('even if there are ten thousand of them, and no item grows', async () => {
    const system = await aSystem({ shards: 64 })
    await publishFor(system, [LARGE], 100)
    const names = Array.from({ length: 10_000 }, (_, nth) => `tenant-${nth}`)
    await publishFor(system, names, 1)

    const places = Array.from({ length: 64 }, (_, shard) => `ready#resize#${shard}`)
    const pages = await Promise.all(
      places.map(partition => system.tasks.page({ index: 'place', partition, limit: 1_000 })),
    )
    const entries = pages.flatMap(page => page.entries).sort((a, b) => (a.sort < b.sort ? -1 : 1))
    const heads = new Map(
      (
        await readTasks(
          system,
          entries.map(({ id }) => id),
        )
      ).map(task => [task.id, task.fairnessKey]),
    )
    const order = entries.map(({ id }) => heads.get(id))

    expect(order).toHaveLength(10_100)
    expect(order.lastIndexOf(order.findLast(name => name !== LARGE))).toBeLessThanOrEqual(10_001)
  })

  it('within each priority', async () => {
    const system = await aSystem()
    await publishFor(system, ['a'], 3, { priority: 1 })
    await publishFor(system, ['b', 'c'], 1, { priority: 1 })
    await publishFor(system, ['c'], 1, { priority: 2 })

    const tenants = await claimedTenants(system, 6)

    expect(tenants[0]).toBe('c')
    expect(tenants.slice(1, 4).sort()).toEqual(['a', 'b', 'c'])
    expect(tenants.slice(4)).toEqual(['a', 'a'])
  })
})

describe('a tenant', () => {
  it('that begins does not wait behind the backlog of an earlier tenant, nor the earlier tenant behind its own', async () => {
    const system = await aSystem()
    await publishFor(system, ['a'], 200)
    await claimedTenants(system, 50)
    await system.clock.advance(SECOND)
    await publishFor(system, ['b'], 100)

    const tenants = await claimedTenants(system, 20)

    expect(tenants.filter(name => name === 'a')).toHaveLength(10)
  })

  it('that was served before does not wait behind the backlog of a new tenant', async () => {
    const system = await aSystem()
    await publishFor(system, ['a'], 500)
    await claimedTenants(system, 500)
    await system.clock.advance(SECOND)
    await publishFor(system, ['b'], 200)
    await publishFor(system, ['a'], 2)

    expect((await claimedTenants(system, 4)).sort()).toEqual(['a', 'a', 'b', 'b'])
  })

  it('that was served while limits held others back does not wait behind the backlog of a new tenant', async () => {
    const limits = { rate: { limit: 1, perMs: 60 * MINUTE, key: 'userId' } }
    const system = await aSystem({ limits })
    await publishFor(system, ['held back'], 20, { userId: 'u1' })
    await timed(system, claimedTenants(system, 1))
    for (let nth = 0; nth < 15; nth++) {
      await publishFor(system, ['a'], 20)
      await system.clock.advance(SECOND)
      await timed(system, claimedTenants(system, 20))
    }
    await publishFor(system, ['b'], 300)
    await publishFor(system, ['a'], 2)

    const tenants = await timed(system, claimedTenants(system, 60))

    expect(tenants.filter(name => name === 'a')).toHaveLength(2)
    expect(tenants).toContain('b')
  })

  it('keeps its turn when its task is changed or published again', async () => {
    const system = await aSystem()
    await publishMany(system, [{ type: 'resize', key: 'first', fairnessKey: 'a' }])
    await publishFor(system, ['a'], 20)
    await publishMany(system, [{ type: 'resize', key: 'second', fairnessKey: 'b' }])
    for (let nth = 0; nth < 30; nth++) {
      await publishMany(system, [{ type: 'resize', key: 'second', fairnessKey: 'b' }])
    }
    await publishMany(system, [{ type: 'resize', key: 'first', fairnessKey: 'a', ifExists: 'update' }])
    // An update that names no tenant keeps the task's tenant.
    await publishMany(system, [{ type: 'resize', key: 'second', ifExists: 'update' }])
    await patchTask(system, 'resize:second', { tags: { a: 'b' } })
    await publishFor(system, ['b'], 1)

    const claims = await claim(system, 4)

    expect(
      claims
        .slice(0, 2)
        .map(({ task }) => task.key)
        .sort(),
    ).toEqual(['first', 'second'])
    expect(tenantsOf(claims).sort()).toEqual(['a', 'a', 'b', 'b'])
  })
})

describe('a task that no worker may claim', () => {
  it('does not hold the front: a new tenant does not overtake tenants that have been served since', async () => {
    const system = await aSystem()
    await publishMany(system, [
      { type: 'resize', key: 'unclaimable', fairnessKey: 'x', options: { minWorkerVersion: '99.0.0' } },
    ])
    await publishFor(system, ['old'], 300)
    for (let nth = 0; nth < 20; nth++) {
      await claim(system, 10)
      await system.clock.advance(1_100)
    }
    await publishFor(system, ['new'], 100)
    await publishFor(system, ['old'], 1)

    const tenants = await timed(system, claimedTenants(system, 20))

    expect(tenants.filter(name => name === 'old').length).toBeGreaterThan(3)
  })
})

describe('a type that gets its first tenant', () => {
  it('gives turns to its waiting tasks in the background, and serves them first until then', async () => {
    const system = await aSystem({ ordering: 'arrival' })
    await publishFor(system, [''], 50)
    await publishFor(system, ['a'], 2)
    const before = await claimedTenants(system, 4)
    const jobs = system.messages.jobLooks.splice(0)
    for (const look of jobs) await workOnJob(system, look, system.clock.now() + MINUTE)

    const after = await claimedTenants(system, 4)

    expect(before).toEqual(['', '', '', ''])
    expect(jobs.map(({ job }) => job.kind)).toContain('reorder')
    expect(after.sort()).toEqual(['', '', 'a', 'a'])
  })
})

describe('fairness by tickets', () => {
  /** The dispatches of all waiting tasks, in the order of their publishing. */
  async function tickets(system: MemorySystem): Promise<Task[]> {
    const places = [0, 1, 2, 3].map(shard => `ready#resize#${shard}`)
    const pages = await Promise.all(
      places.map(partition => system.tasks.page({ index: 'place', partition, limit: 1_000 })),
    )
    const tasks = await readTasks(
      system,
      pages.flatMap(page => page.entries.map(({ id }) => id)),
    )
    return tasks.sort((a, b) => a.createdAt - b.createdAt)
  }

  it('a Lambda type runs two tasks of a small tenant before the thousandth of a large one', async () => {
    const system = await aSystem({ kind: 'handler' })
    await publishFor(system, [LARGE], 300)
    await publishFor(system, COLLIDING.slice(0, 10), 2)
    const sent = await tickets(system)
    const ran: string[] = []
    const definition = defineTask('resize', {
      input: z.unknown(),
      run: async (_input, { key }) => {
        ran.push((await readTask(system, `resize:${key}`))?.fairnessKey ?? '')
      },
    })
    for (let start = 0; start < 40; start += 10) {
      const received = sent.slice(start, start + 10).map(task => ({ messageId: task.id, task }))
      const tools = { definition, typeOf: cachedTypeReader(system), stopAt: system.clock.now() + MINUTE }
      await timed(system, serveDispatches(system, received, { workerId: `w${start}` }, tools))
    }

    expect(sent.slice(0, 40).every(({ fairnessKey }) => fairnessKey === LARGE)).toBe(true)
    expect(ran).toHaveLength(40)
    expect(ran.slice(0, 22).filter(name => name !== LARGE)).toHaveLength(20)
  })

  it('a standalone worker claims two tasks of each small tenant first', async () => {
    const system = await aSystem({ kind: 'handler' })
    await publishFor(system, [LARGE], 300)
    await publishFor(system, COLLIDING.slice(0, 10), 2)
    const type = (await system.types.get('resize')) as TaskType
    const claimByTicket = createTicketClaimer(system, { workerId: 'w1' })

    const outcomes = await Promise.all(
      (await tickets(system)).slice(0, 30).map(task => claimByTicket(type, { task, passedOn: 0 })),
    )

    const tenants = outcomes.map(one => (typeof one === 'string' ? one : (one.task.fairnessKey ?? '')))
    expect(tenants.filter(name => name !== LARGE)).toHaveLength(20)
  })
})

describe('a task that is tried again', () => {
  it('gets a new turn behind those of its own tenant, and next to those of others', async () => {
    const system = await aSystem()
    await publishFor(system, ['a'], 30)
    await publishFor(system, ['b'], 30)
    const [first] = await claim(system, 1)
    const { task, run } = first as Claimed
    const word = { born: task.born, fence: run.fence, outcome: 'release' as const }
    await transact(system, task, current => finish(current, word, system.clock.now(), 0))

    const tenants = await claimedTenants(system, 60)
    const again = await readTask(system, task.id)

    expect(tenants).toHaveLength(60)
    expect(again?.fence).toBe(2)
    expect(tenants.slice(-2)).toContain(task.fairnessKey)
  })
})
