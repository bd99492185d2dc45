import { describe, expect, it } from 'vitest'
import { resolveOptions } from '../../../shared/core/options.ts'
import { isComplete } from '../../../shared/core/run/finish.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { planned } from '../../../shared/core/wake.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import { claimTask } from '../../../shared/runtime/claim/claim.ts'
import type { Claimed } from '../../../shared/runtime/claim/claimed-task.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { cancelTask } from '../../../shared/runtime/operate/operate.ts'
import { lookOf } from '../../../shared/runtime/plan/plan.ts'
import { finishOverHttp } from '../../../shared/runtime/run/http-runs.ts'
import { keepInTable } from '../../../shared/runtime/run/keep-in-table.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import { HOUR, MINUTE } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import { aMemorySystem, beforeWrites, registered, stored, timed } from '../../support/worlds/memory-system.ts'

const CROWD = 100
/** A result so large that it is stored in an item of its own. */
const RESULT = 'x'.repeat(1_000)

const numbered = <T>(count: number, one: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => one(n))

/** What one worker writes, and how long its calls take in each direction. */
type Reach = { readonly system: System; writes(): number }

/** The system as one worker reaches it: each call takes 4 to 12 ms, and each conditional write and each body counts. */
function reached(system: MemorySystem): Reach {
  let writes = 0
  const lag = () => system.clock.sleep(2 + Math.floor(4 * system.chance.fraction()))
  const slow = <Given extends unknown[], T>(call: (...given: Given) => Promise<T>) => {
    return async (...given: Given): Promise<T> => {
      await lag()
      const answer = await call(...given)
      await lag()
      return answer
    }
  }
  const tasks: TaskStore = {
    ...system.tasks,
    head: slow(system.tasks.head),
    apply: slow(change => {
      writes += 1 + change.bodies.length
      return system.tasks.apply(change)
    }),
  }
  return { system: { ...system, tasks }, writes: () => writes }
}

async function aCrowdedTask(concurrency = CROWD, more: object = {}) {
  const system = aMemorySystem()
  await registered(system)
  const options = resolveOptions({ concurrency, leaseMs: HOUR, heartbeatMs: HOUR, ...more })
  return { system, task: await stored(system, { options }) }
}

/** A task with `count` runs, claimed one after the other. */
async function withRuns(concurrency: number, count = concurrency, more: object = {}) {
  const { system, task } = await aCrowdedTask(concurrency, more)
  const claims: Claimed[] = []
  for (let n = 0; n < count; n++) {
    const seen = await readTask(system, task.id)
    claims.push((await claimTask(system, seen as Task, { workerId: `w${n}` })) as Claimed)
  }
  return { system, task, claims }
}

async function finished(system: System, claimed: Claimed, result = 'done') {
  const end = await keepInTable(system, claimed).finish({ outcome: 'succeed', result })
  return end.outcome === 'succeed'
}

const headOf = async (system: System, { id }: Task) => (await readTask(system, id)) as Task

/** The system with a store that fails at every write for which `fails` is true. */
function without(system: System, fails: (after: Head) => boolean): System {
  const tasks: TaskStore = {
    ...system.tasks,
    apply: async change => {
      if (fails(change.after)) throw new BatonError('unavailable', 'died')
      return system.tasks.apply(change)
    },
  }
  return { ...system, tasks }
}

describe('100 workers that act at one moment', () => {
  it('all count when they finish one task, with at most three writes each', async () => {
    const { system, task, claims } = await withRuns(CROWD)
    const workers = claims.map(claimed => ({ claimed, ...reached(system) }))

    const accepted = await timed(
      system,
      Promise.all(workers.map(worker => finished(worker.system, worker.claimed, RESULT))),
    )

    const head = await headOf(system, task)
    expect(accepted).toEqual(numbered(CROWD, () => true))
    expect(head).toMatchObject({ state: 'succeeded', failures: 0, live: {} })
    expect(Object.values(head.ended).filter(({ state }) => state === 'succeeded')).toHaveLength(CROWD)
    expect(Math.max(...workers.map(({ writes }) => writes()))).toBeLessThanOrEqual(3)
    expect(workers.reduce((sum, { writes }) => sum + writes(), 0)).toBe(2 * CROWD + 1)
  })

  it('all get a run when they claim one task, within five seconds and with at most eight writes each', async () => {
    const { system, task } = await aCrowdedTask()
    const began = system.clock.now()
    const workers = numbered(CROWD, n => ({ workerId: `w${n}`, ...reached(system) }))

    const claims = await timed(
      system,
      Promise.all(workers.map(worker => claimTask(worker.system, task, { workerId: worker.workerId }))),
    )

    expect(claims.filter(claimed => 'run' in claimed)).toHaveLength(CROWD)
    expect(Object.keys((await headOf(system, task)).live)).toHaveLength(CROWD)
    expect(system.clock.now() - began).toBeLessThanOrEqual(5_000)
    expect(Math.max(...workers.map(({ writes }) => writes()))).toBeLessThanOrEqual(8)
  })

  it('are each recorded once when they fail one task', async () => {
    const { system, task, claims } = await withRuns(CROWD, CROWD, { retry: { maxRetries: 1_000 } })
    const error = { name: 'E', message: 'no' }

    const accepted = await timed(
      system,
      Promise.all(
        claims.map(claimed => {
          const { system: reach } = reached(system)
          return keepInTable(reach, claimed).finish({ outcome: 'fail', error })
        }),
      ),
    )

    expect(accepted.map(({ outcome }) => outcome)).toEqual(numbered(CROWD, () => 'fail'))
    expect(await headOf(system, task)).toMatchObject({ failures: CROWD, live: {} })
  })
})

describe('a worker that dies between the last needed success and the write of the task end', () => {
  /** The success of the second worker is counted on an outdated copy, and the end cannot be written. */
  const completeTask = async (more: object = {}) => {
    const { system, task, claims } = await withRuns(2, 2, more)
    const [first, second] = claims as [Claimed, Claimed]
    const dying = without(system, ({ state }) => state === 'succeeded')
    await finished(system, { ...first, task: second.task })
    expect(await finished(dying, second)).toBe(true)
    const head = await headOf(system, task)
    expect(isComplete(head)).toBe(true)
    return { system, head, second }
  }

  it('loses nothing, since the look that the planner sends writes the end', async () => {
    const { system, head } = await completeTask()

    await timed(system, wakeTasks(system, lookOf(planned(head, system.clock.now()), system.clock.now())))

    expect(await headOf(system, head)).toMatchObject({ state: 'succeeded', finishedAt: head.updatedAt })
  })

  it('loses nothing to a deadline that passes before that', async () => {
    const { system, head } = await completeTask({ deadlineMs: MINUTE })
    await system.clock.advance(HOUR)

    await timed(system, wakeTasks(system, lookOf(planned(head, system.clock.now()), system.clock.now())))

    expect(await headOf(system, head)).toMatchObject({ state: 'succeeded' })
  })

  it('loses nothing to a cancel: the task has succeeded', async () => {
    const { system, head } = await completeTask()

    expect(await cancelTask(system, head.id)).toMatchObject({ ok: false, reason: 'finished' })
    expect(await headOf(system, head)).toMatchObject({ state: 'succeeded' })
  })

  it('may report its success again, which then writes the end', async () => {
    const { system, head, second } = await completeTask()
    const run = { taskId: head.id, born: head.born, fence: second.run.fence }

    const again = await finishOverHttp(system, run, { outcome: 'succeed', result: 'done' })

    expect(again).toMatchObject({ ok: true, task: { state: 'succeeded' } })
  })
})

it('a claim whose write is refused late finds the task taken and reports no outage', async () => {
  const { system, task } = await aCrowdedTask(1)
  const late = beforeWrites(system, () => system.clock.sleep(MINUTE))

  const claiming = claimTask(late, task, { workerId: 'late' })
  await claimTask(system, task, { workerId: 'early' })
  await system.clock.advance(2 * MINUTE)

  expect(await claiming).toMatchObject({ refused: 'no-worker-wanted', lostToOthers: true })
})

describe('a success', () => {
  it('counts once and releases its permits when its answer was lost and others succeeded after it', async () => {
    const { system, task } = await withRuns(3, 0)
    const permit = { limit: 'resize', holder: '0123456789' }
    const claims = []
    for (const workerId of ['w0', 'w1']) {
      const seen = await headOf(system, task)
      claims.push((await claimTask(system, seen, { workerId })) as Claimed)
    }
    const [first, second] = claims as [Claimed, Claimed]
    const holder = { holder: permit.holder, taskId: task.id, since: system.clock.now() }
    await system.limits.acquire(permit.limit, holder, 1)
    const fence = first.run.fence
    const seen = { ...first.task, live: { ...first.task.live, [fence]: { ...first.run, permits: [permit] } } }
    // The write is stored, but its answer is lost. Then another success hides it.
    await finishOverHttp(
      system,
      { taskId: task.id, born: task.born, fence },
      {
        outcome: 'succeed',
        result: 'done',
      },
    )
    await finished(system, second)

    const accepted = await finished(system, { ...first, task: seen })

    expect(accepted).toBe(true)
    expect(Object.keys((await headOf(system, task)).ended)).toEqual(['1', '2'])
    expect((await system.limits.permits(permit.limit, [0])).holders).toEqual([])
  })

  it('is tried again under its lease, as in an outage, while it loses all its races', async () => {
    const { system, task, claims } = await withRuns(1)
    const [claimed] = claims as [Claimed]
    const until = system.clock.now() + MINUTE
    let lost = 0
    const losing = { ...system, tasks: { ...system.tasks } }
    losing.tasks.apply = async change => {
      if (system.clock.now() >= until) return system.tasks.apply(change)
      lost += 1
      await system.clock.sleep(20)
      return { applied: false, current: await readTask(system, task.id) }
    }

    const accepting = finished(losing, claimed)
    await system.clock.advance(2 * MINUTE)
    const accepted = await accepting

    expect(lost).toBeGreaterThan(20)
    expect(accepted).toBe(true)
    expect(await headOf(system, task)).toMatchObject({ state: 'succeeded' })
  })
})
