import { beforeEach, describe, expect, it } from 'vitest'
import type { Operation } from '../../../shared/core/task/head-fields.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import { claimReady } from '../../../shared/runtime/claim/claim-ready.ts'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import { removeTask } from '../../../shared/runtime/operate/operate.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { DAY, MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import {
  aMemorySystem,
  beforeWrites,
  noAnswer,
  registered,
  stored,
} from '../../support/worlds/memory-system.ts'

const HTTP = { configuration: { kind: 'http' as const, defaults: {}, shards: 1 }, type: 'jobs' }
const WORKER = { workerId: 'w1' }

/** A store that refuses these writes of the task `jobs:bad` because of their content. */
function refusing(system: MemorySystem, refused: (operation: Operation) => boolean): MemorySystem {
  return beforeWrites(system, ({ key, operation }) => {
    if (key === 'bad' && refused(operation))
      throw new BatonError('unstorable', 'the table refuses what it is sent: no such key')
  })
}

async function threeTasks(system: MemorySystem): Promise<void> {
  const type = await registered(system, HTTP)
  for (const key of ['a', 'bad', 'c']) await stored(system, { type: type.type, key, kind: 'http' })
}

async function claimAll(system: MemorySystem, wanted = 10): Promise<string[]> {
  const types = await system.types.list()
  const { claimed } = await claimReady(system, types, WORKER, { wanted })
  return claimed.map(({ task }) => task.key)
}

const head = (system: MemorySystem, key: string) => system.tasks.head(`jobs:${key}`) as Promise<Task>

let system: MemorySystem
beforeEach(async () => {
  system = aMemorySystem()
  await threeTasks(system)
})

describe('a task whose claim the store refuses because of its content', () => {
  it('does not keep other tasks from being claimed', async () => {
    const faulty = refusing(system, operation => operation === 'claim')

    expect((await claimAll(faulty)).sort()).toEqual(['a', 'c'])
  })

  it('does not make the claim request fail, even alone', async () => {
    const faulty = refusing(system, operation => operation === 'claim')
    await claimAll(faulty)

    expect(await claimAll(faulty)).toEqual([])
  })

  it('shows why, waits for its retry, and fails at the end of its budget', async () => {
    const faulty = refusing(system, operation => operation === 'claim')

    await claimAll(faulty)
    const first = await head(system, 'bad')
    for (let nth = 0; nth < 3; nth++) {
      await system.clock.advance(MINUTE)
      const { id, born, revision } = await head(system, 'bad')
      await wakeTasks(faulty, [{ id, born, revision, hops: 0, delaySeconds: 0 }])
      await claimAll(faulty)
    }

    expect(first).toMatchObject({ state: 'open', retrying: true, failures: 1 })
    expect(first.dueAt).toBeGreaterThan(first.updatedAt)
    const last = await head(system, 'bad')
    expect(last).toMatchObject({ state: 'failed', failures: 4, error: { name: 'ClaimRefused' } })
    expect(last.error?.message).toContain('no such key')
    expect(system.counted('TaskFault')).toBe(4)
  })

  it('is recorded only within the time of its claim', async () => {
    let writes = 0
    const faulty = refusing(system, operation => operation === 'claim')
    const apply: typeof faulty.tasks.apply = async change => {
      if (change.after.operation === 'claim') return faulty.tasks.apply(change)
      writes += 1
      return { applied: false, current: await head(system, 'bad') }
    }
    const crowded = { ...faulty, tasks: { ...faulty.tasks, apply } }
    const patience = { until: system.clock.now() }

    const claiming = claimTask(crowded, await head(system, 'bad'), WORKER, { patience })

    await expect(claiming).rejects.toThrow('other writers')
    expect(writes).toBe(1)
  })

  it('is not tried by every claim when it cannot be written at all, and can be removed', async () => {
    let tries = 0
    const faulty = refusing(system, operation => {
      tries += operation === 'claim' ? 1 : 0
      return operation !== 'remove'
    })

    for (let nth = 0; nth < 20; nth++) await claimAll(faulty)
    const soon = tries
    await system.clock.advance(2 * MINUTE)
    await claimAll(faulty)

    expect([soon, tries]).toEqual([1, 2])
    expect(await head(system, 'bad')).toMatchObject({ state: 'open', revision: 1 })
    expect(await removeTask(faulty, 'jobs:bad')).toEqual({ ok: true })
  })

  it('does not harm other tasks when the store refuses the name of its limit', async () => {
    await system.types.put(
      { ...(await registered(system, HTTP)), configuration: { ...HTTP.configuration, limits: BY_TENANT } },
      1,
    )
    const { acquire } = system.limits
    const limits: MemorySystem['limits'] = {
      ...system.limits,
      acquire: async (limit, holder, max) => {
        if (holder.taskId === 'jobs:bad') throw new BatonError('unstorable', 'no such key')
        return acquire(limit, holder, max)
      },
    }

    expect((await claimAll({ ...system, limits })).sort()).toEqual(['a', 'c'])
    expect(await head(system, 'bad')).toMatchObject({ failures: 1 })
  })

  it('is not an outage, and an outage fails no task', async () => {
    await expect(claimAll(beforeWrites(system, noAnswer))).rejects.toThrow('no answer')
    expect(await head(system, 'bad')).toMatchObject({ failures: 0, state: 'open' })
  })
})

const BY_TENANT = { concurrency: { max: 5, key: 'tenant' } }

describe('work on many tasks continues without the one that is at fault', () => {
  it('in a job', async () => {
    const faulty = refusing(system, () => true)
    await claimAll(system)
    await system.clock.advance(MINUTE)
    for (const key of ['a', 'bad', 'c']) {
      const task = await head(system, key)
      await system.tasks.apply({
        before: task,
        after: {
          ...task,
          state: 'succeeded',
          live: {},
          revision: task.revision + 1,
          view: { bucket: 'succeeded', sort: 1 },
          finishedAt: 1,
          expiresAt: system.clock.now() + DAY,
        },
        guard: { kind: 'revision', born: task.born, revision: task.revision, leases: [] },
        bodies: [],
      })
    }

    const job = { kind: 'purge' as const, statuses: ['succeeded' as const], before: system.clock.now() }
    await workOnJob(
      faulty,
      { type: 'jobs', job: { ...job } as never, bucket: 'succeeded', shard: 0, delaySeconds: 0 },
      Number.POSITIVE_INFINITY,
    )

    expect(
      (await Promise.all(['a', 'bad', 'c'].map(key => head(system, key)))).map(({ state }) => state),
    ).toEqual(['removed', 'succeeded', 'removed'])
  })

  it('in looks, which SQS does not deliver again for it', async () => {
    await claimAll(system)
    const looks = await Promise.all(
      ['a', 'bad', 'c'].map(async key => {
        const { id, born, revision } = await head(system, key)
        return { id, born, revision, hops: 0, delaySeconds: 0 }
      }),
    )
    await system.clock.advance(20 * SECOND)

    const failures = await wakeTasks(
      refusing(system, () => true),
      looks,
    )

    expect(failures).toMatchObject([{ id: 'jobs:bad', transient: false }])
    expect(Object.keys((await head(system, 'a')).live)).toEqual([])
    expect(Object.keys((await head(system, 'c')).live)).toEqual([])
  })

  it('in a round of the sweeper', async () => {
    const { heads } = system.tasks
    const tasks: MemorySystem['tasks'] = {
      ...system.tasks,
      heads: async ids =>
        (await heads(ids)).map(task => (task.key === 'bad' ? { ...task, live: { 1: BROKEN } } : task)),
    }
    await system.clock.advance(20 * MINUTE)

    const report = await sweep({ ...system, tasks })

    expect(report).toMatchObject({ examined: 3, failed: 0 })
  })
})

/** A run of a form that no code writes: all code that reads it throws. */
const BROKEN = null as never
