import { beforeEach, expect, it } from 'vitest'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import { startPurge, sweepPurges } from '../../../shared/runtime/jobs/sweep-purges.ts'
import { putType, registerHandlerType } from '../../../shared/runtime/types/types.ts'
import { MINUTE, SECOND } from '../../support/tasks/a-task.ts'
import {
  aMemorySystem,
  type MemorySystem,
  registered,
  servedJobs,
  stored,
} from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(async () => {
  system = aMemorySystem()
  await registered(system)
})

async function begun(): Promise<void> {
  await system.clock.advance(SECOND)
  const askedAt = system.clock.now()
  await startPurge(system, 'resize', { statuses: ['ready'], before: askedAt, askedAt })
}

/** Runs a round of the sweeper after a little more than a minute. */
async function round() {
  await system.clock.advance(MINUTE + SECOND)
  return sweepPurges(system, await system.types.list())
}

const isOpen = async (id: string) => (await system.tasks.head(id))?.state === 'open'
const purges = async () => (await system.types.get('resize'))?.purges

it('the sweeper starts and counts a purge whose messages were all lost', async () => {
  const { id } = await stored(system)
  await begun()
  system.messages.jobLooks.length = 0

  const early = await sweepPurges(system, await system.types.list())
  const report = await round()
  await servedJobs(system)

  expect([early.repaired, report]).toEqual([0, { examined: 0, repaired: 1, failed: 0 }])
  expect(system.counted('SweeperRepaired')).toBe(1)
  expect(await isOpen(id)).toBe(false)
})

it('a purge continues where it stopped when a message was lost', async () => {
  for (let nth = 0; nth < 150; nth++)
    await stored(system, { key: `k${nth}`, dueAt: system.clock.now() + nth })
  await system.clock.advance(SECOND)
  await begun()
  const [look] = system.messages.jobLooks.splice(0)
  if (!look) throw new Error('nothing was begun')
  await workOnJob(withTimeForOnePage(), look, system.clock.now() + 1)
  const [lost] = system.messages.jobLooks.splice(0)

  await round()

  expect(lost?.after?.id).toBe('resize:k99')
  expect(system.messages.jobLooks).toMatchObject([{ after: { id: 'resize:k99' } }])
})

it('a purge is left alone while the jobs function works on it', async () => {
  await stored(system)
  await begun()
  await system.clock.advance(MINUTE)
  await servedJobs(system, system.clock.now())
  system.messages.jobLooks.length = 0
  await system.clock.advance(30 * SECOND)

  const report = await sweepPurges(system, await system.types.list())

  expect(report.repaired).toBe(0)
  expect(system.messages.jobLooks).toEqual([])
})

it('a purge is not sent again while its message may wait in the jobs queue, but is after 15 minutes', async () => {
  await stored(system)
  await begun()
  system.messages.jobLooks.length = 0
  system.messages.jobsWaiting = 1

  const reports = [await round(), await round()]
  await system.clock.advance(15 * MINUTE)
  const late = await round()

  expect(reports.map(({ repaired }) => repaired)).toEqual([0, 0])
  expect(late.repaired).toBe(1)
})

it('a purge passes over all tasks twice, so that it finds what the index showed late, and is done then', async () => {
  const { id } = await stored(system)
  await begun()
  const late = { ...system, tasks: { ...system.tasks, page: async () => ({ entries: [], more: false }) } }
  for (const look of system.messages.jobLooks.splice(0)) await workOnJob(late, look, Number.POSITIVE_INFINITY)
  const afterFirst = await isOpen(id)

  await round()
  const second = [...system.messages.jobLooks]
  await servedJobs(system)
  const before = await purges()
  await round()

  expect(afterFirst).toBe(true)
  expect(second).toMatchObject([{ job: { isSecond: true } }])
  expect(await isOpen(id)).toBe(false)
  expect([before?.length, await purges()]).toEqual([1, undefined])
  expect(system.messages.jobLooks).toEqual([])
})

it('a purge outlives a change of its type, and a deployment', async () => {
  await begun()

  await putType(system, 'resize', { kind: 'handler', defaults: { priority: 1 } })
  await registerHandlerType(system, 'resize', { kind: 'handler', defaults: {} })

  expect(await purges()).toHaveLength(1)
})

it('a purge that cannot be swept does not affect the others', async () => {
  await begun()
  await registered(system, { type: 'other', purges: (await purges()) ?? [] })
  system.messages.jobLooks.length = 0
  const get = (name: string) =>
    name.includes('#other#') ? Promise.reject(new Error('no answer')) : system.records.get(name)
  await system.clock.advance(MINUTE)

  const report = await sweepPurges(
    { ...system, records: { ...system.records, get } },
    await system.types.list(),
  )

  expect(report).toEqual({ examined: 0, repaired: 1, failed: 1 })
})

/** The system with a clock that moves on with each page that is read. */
function withTimeForOnePage(): MemorySystem {
  let pages = 0
  const page: MemorySystem['tasks']['page'] = query => {
    pages += 1
    return system.tasks.page(query)
  }
  return {
    ...system,
    tasks: { ...system.tasks, page },
    clock: { ...system.clock, now: () => system.clock.now() + pages },
  }
}
