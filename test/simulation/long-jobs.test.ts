import { expect, it } from 'vitest'
import { encodeJob } from '../../shared/aws/sqs/wire.ts'
import { create } from '../../shared/core/publish.ts'
import { claim } from '../../shared/core/run/claim.ts'
import type { Task } from '../../shared/core/task/task.ts'
import type { TaskType } from '../../shared/core/types/task-type.ts'
import { planned } from '../../shared/core/wake.ts'
import { readTask } from '../../shared/runtime/kernel/heads.ts'
import type { PlanningSystem } from '../../shared/runtime/kernel/system.ts'
import { lookOf } from '../../shared/runtime/plan/plan.ts'
import { startJob } from '../../shared/runtime/types/change-type.ts'
import { aPublication, changeOf } from '../support/tasks/a-task.ts'
import { runJobs, runWaker } from './actors/functions.ts'
import { createDrivenWorld, type DrivenWorld } from './world/driven-world.ts'
import { createSandboxes } from './world/sandboxes.ts'

const SECOND = 1_000
const SHARDS = 64
/** How long each page takes, as at a throttled table. A resume then takes minutes. */
const PAGE_MS = 10 * SECOND
const TIMEOUT_MS = 60 * SECOND
const TAKEOVERS = 12
/** So few invocations of the waker that the resume of one type can occupy all of them. */
const WAKERS = 2
const LEASE_MS = 15 * SECOND

const BULK: TaskType = {
  type: 'bulk',
  configuration: { kind: 'handler', defaults: {}, shards: SHARDS },
  paused: false,
  version: 1,
  createdAt: 0,
  updatedAt: 0,
}

type Routes = 'queues of their own' | 'one queue'

/**
 * How late the runs of dead workers are recorded as lost while a type of 64 shards is resumed, in milliseconds
 * each.
 */
async function latenessWith(routes: Routes): Promise<number[]> {
  const driven = await createDrivenWorld({ conditions: { wakers: WAKERS } })
  const { world, services, clock } = driven
  const systemFor = (process: ReturnType<DrivenWorld['process']>) =>
    withSlowPages(
      routes === 'one queue' ? onOneQueue(driven, services.systemFor(process)) : services.systemFor(process),
    )
  const sandboxes = createSandboxes(world, { timeoutMs: TIMEOUT_MS, systemFor })
  runWaker(world, services.wakes, sandboxes)
  runJobs(world, services.jobs, sandboxes)
  const process = driven.process('the API')
  const system = systemFor(process)

  await driven.until(startJob(system, BULK, { kind: 'resume' }))
  const lateness: Array<Promise<number>> = []
  for (let nth = 0; nth < TAKEOVERS; nth++) {
    lateness.push(takenOver(driven, system, await driven.until(deadRun(system, `k${nth}`))))
    await clock.sleep(5 * SECOND)
  }
  return driven.until(Promise.all(lateness))
}

/** Sends the messages of long jobs to the queue of looks, as an earlier version did. */
function onOneQueue({ services }: DrivenWorld, system: PlanningSystem): PlanningSystem {
  return {
    ...system,
    messages: {
      ...system.messages,
      continueJobs: async looks => {
        for (const look of looks) services.wakes.send(encodeJob(look), look.delaySeconds)
        return []
      },
    },
  }
}

function withSlowPages(system: PlanningSystem): PlanningSystem {
  const page: PlanningSystem['tasks']['page'] = async query => {
    await system.clock.sleep(PAGE_MS)
    return system.tasks.page(query)
  }
  return { ...system, tasks: { ...system.tasks, page } }
}

/** A running task whose worker died right after its claim. */
async function deadRun(system: PlanningSystem, key: string): Promise<Task> {
  const now = system.clock.now()
  const published = create(aPublication({ key, dueAt: now }), undefined, now)
  await system.tasks.apply(published)
  const claimed = changeOf(claim(published.after, { workerId: 'dead' }, now))
  await system.tasks.apply(claimed)
  await system.messages.look(lookOf(planned(claimed.after, now), now))
  return claimed.after
}

/** Milliseconds from the end of the lease until the run is recorded as lost. */
async function takenOver({ clock }: DrivenWorld, system: PlanningSystem, task: Task): Promise<number> {
  const leaseEnd = system.clock.now() + LEASE_MS
  for (;;) {
    const head = await readTask(system, task.id)
    if (Object.keys(head?.live ?? {}).length === 0) return clock.now() - leaseEnd
    await system.clock.sleep(100)
  }
}

it('takeovers come within two seconds of the lease’s end while a type of 64 shards is resumed at a slow table', async () => {
  const apart = await latenessWith('queues of their own')
  const shared = await latenessWith('one queue')

  if (process.env.MEASURE) console.log('measured: late by virtual ms:', apart, 'on one queue:', shared)

  expect(apart).toHaveLength(TAKEOVERS)
  expect(Math.max(...apart)).toBeLessThanOrEqual(2 * SECOND)
  expect(Math.max(...shared), 'lateness on one queue, which two queues avoid').toBeGreaterThan(5 * SECOND)
})
