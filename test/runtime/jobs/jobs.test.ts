import { expect, it } from 'vitest'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import { startJob } from '../../../shared/runtime/types/change-type.ts'
import { MINUTE, NOW } from '../../support/tasks/a-task.ts'
import { aMemorySystem, type MemorySystem, registered, stored } from '../../support/worlds/memory-system.ts'

const LATER = NOW + MINUTE
const RESUME = { kind: 'resume' as const }
const LOOK = { type: 'resize', job: RESUME, bucket: 'open' as const, shard: 0, delaySeconds: 0 }

/** A number of tasks of the type, the earliest due first. */
async function backlog(system: MemorySystem, size: number): Promise<void> {
  for (let nth = 0; nth < size; nth++) await stored(system, { key: `k${nth}`, dueAt: NOW - size + nth })
}

function sentKeys({ messages }: MemorySystem): string[] {
  return messages.dispatches.map(({ task }) => task.key)
}

it('a job starts with one message per partition of its type', async () => {
  const system = aMemorySystem()
  const type = await registered(system, { configuration: { kind: 'handler', defaults: {}, shards: 2 } })

  await startJob(system, type, RESUME, 3)

  expect(system.messages.jobLooks.map(({ bucket, shard }) => `${bucket} ${shard}`).sort()).toEqual([
    'compensating 0',
    'compensating 1',
    'open 0',
    'open 1',
  ])
  expect(system.messages.jobLooks.every(({ delaySeconds }) => delaySeconds === 3)).toBe(true)
})

it('a resume sends due tasks again, page by page, in order', async () => {
  const system = aMemorySystem()
  await backlog(system, 250)
  await stored(system, { key: 'later', dueAt: NOW + 1_000 })

  await workOnJob(system, LOOK, LATER)

  expect(sentKeys(system)).toEqual(Array.from({ length: 250 }, (_, nth) => `k${nth}`))
})

it('a job that runs out of time continues in a new message, after the last page', async () => {
  const system = aMemorySystem()
  await backlog(system, 150)
  const ending = { ...system, clock: { ...system.clock, now: nowThenLater() } }

  await workOnJob(ending, LOOK, LATER)

  const [rest] = system.messages.jobLooks
  expect(system.messages.jobLooks).toEqual([{ ...LOOK, after: { id: 'resize:k99', sort: NOW - 51 } }])
  await workOnJob(system, rest ?? LOOK, LATER)
  expect(sentKeys(system)).toEqual(Array.from({ length: 150 }, (_, nth) => `k${nth}`))
})

/** A clock that leaves time for one page: it shows LATER from its fourth reading on. */
function nowThenLater(): () => number {
  let asked = 0
  return () => (asked++ < 3 ? NOW : LATER)
}

it('a job fails when a message of it or of its tasks cannot be sent, so SQS delivers its message again', async () => {
  const system = aMemorySystem()
  const type = await registered(system)
  await backlog(system, 1)
  const unsent = async () => [{ index: 0, reason: 'no answer', transient: true }]
  const broken = { ...system, messages: { ...system.messages, continueJobs: unsent, dispatch: unsent } }

  await expect(startJob(broken, type, RESUME)).rejects.toThrow('no answer')
  await expect(workOnJob(broken, LOOK, LATER)).rejects.toThrow('1 tasks could not be sent again: no answer')
  await expect(workOnJob(broken, LOOK, NOW)).rejects.toThrow('no answer')
})
