import { beforeEach, expect, it } from 'vitest'
import { create } from '../../../shared/core/publish.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import type { Status } from '../../../shared/core/task/lifecycle.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { workOnJob } from '../../../shared/runtime/jobs/jobs.ts'
import { startPurge } from '../../../shared/runtime/jobs/sweep-purges.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { transact } from '../../../shared/runtime/kernel/kernel.ts'
import { cancelTask, removeTask } from '../../../shared/runtime/operate/operate.ts'
import { aPublication, DAY, LATER_BORN, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import type { MemorySystem } from '../../support/worlds/memory-system.ts'
import {
  aMemorySystem,
  beforeWrites,
  claimed,
  noAnswer,
  registered,
  stored,
} from '../../support/worlds/memory-system.ts'

let system: MemorySystem
beforeEach(() => {
  system = aMemorySystem()
})

const LONG = 'x'.repeat(1_000)

async function aPurge(system: MemorySystem, ...statuses: Status[]) {
  if (!(await system.types.get('resize'))) await registered(system)
  const askedAt = system.clock.now()
  const started = await startPurge(system, 'resize', { statuses, before: askedAt, askedAt })
  await system.clock.advance(2 * SECOND)
  return started
}

/** Serves all job messages, each twice. */
async function serve(system: MemorySystem): Promise<void> {
  for (const look of system.messages.jobLooks.splice(0)) {
    for (const again of [look, look]) await workOnJob(system, again, Number.POSITIVE_INFINITY)
  }
}

/** The answer to the report of the task's first run. */
async function worded(system: MemorySystem, seen: Task, outcome: Outcome) {
  const { decision } = await transact(system, seen, task =>
    finish(task, { born: seen.born, fence: 1, ...outcome }, system.clock.now(), 0),
  )
  return decision
}

async function stateOf(system: MemorySystem, { id }: Task): Promise<string | undefined> {
  return (await readTask(system, id))?.state
}

it('a purge starts with delayed messages, so that the indexes show all tasks that existed when it was asked for', async () => {
  await aPurge(system, 'ready')

  expect(system.messages.jobLooks).toMatchObject([{ bucket: 'open', shard: 0, delaySeconds: 2 }])
})

it('a purge removes the selected tasks page by page, and none that was published later', async () => {
  const meant: Task[] = []
  for (let nth = 0; nth < 150; nth++) meant.push(await stored(system, { key: `k${nth}` }))
  const done = await stored(system, { key: 'done' })
  await cancelTask(system, done.id)
  await system.clock.advance(SECOND)

  await aPurge(system, 'ready', 'running')
  const later = await stored(system, { key: 'later' })
  await serve(system)

  expect(new Set(await Promise.all(meant.map(task => stateOf(system, task))))).toEqual(new Set(['removed']))
  expect(await stateOf(system, later)).toBe('open')
  expect(await stateOf(system, done)).toBe('cancelled')
})

it('a purge takes a running task from its worker, whose report is refused then', async () => {
  const task = await claimed(system, await stored(system))
  await system.clock.advance(SECOND)

  await aPurge(system, 'running')
  await serve(system)
  const told = await worded(system, task, { outcome: 'succeed' })

  expect(await stateOf(system, task)).toBe('removed')
  expect(told).toMatchObject({ ok: false, reason: 'removed' })
})

it('a purge leaves a task alone that was published anew while the purge read its list', async () => {
  const task = await stored(system)
  await system.clock.advance(SECOND)
  await aPurge(system, 'ready')
  await removeTask(system, task.id)
  const remains = await readTask(system, task.id)
  const born = create(aPublication({ born: LATER_BORN }), remains, system.clock.now())
  await system.tasks.apply(born)
  const lagging = { ...system, tasks: { ...system.tasks, page: pageWith(task), heads: async () => [task] } }

  for (const look of system.messages.jobLooks) await workOnJob(lagging, look, Number.POSITIVE_INFINITY)

  expect(await readTask(system, task.id)).toMatchObject({ state: 'open', born: LATER_BORN })
})

it('a purge publishes the owed callbacks of a task before it is removed', async () => {
  await registered(system)
  const callbacks = { onSuccess: [{ type: 'resize', key: 'child' }], onError: [] }
  const task = await claimed(system, await stored(system, { callbacks }))
  await worded(system, task, { outcome: 'succeed' })
  await system.clock.advance(SECOND)

  await aPurge(system, 'succeeded')
  await serve(system)

  expect(await stateOf(system, task)).toBe('removed')
  expect(await readTask(system, 'resize:child')).toMatchObject({ state: 'open', parentId: task.id })
})

it('a purge fails when a task cannot be removed, so SQS delivers its message again', async () => {
  await stored(system)
  await system.clock.advance(SECOND)
  await aPurge(system, 'ready')
  const [look] = system.messages.jobLooks
  if (!look) throw new Error('nothing was begun')

  const work = workOnJob(beforeWrites(system, noAnswer), look, Number.POSITIVE_INFINITY)

  await expect(work).rejects.toThrow('no answer')
})

it('a purge that cannot be started is still listed in its type', async () => {
  const continueJobs = async () => [{ index: 0, reason: 'no answer', transient: true }]

  const begun = await aPurge({ ...system, messages: { ...system.messages, continueJobs } }, 'ready')

  expect(begun).toEqual({ ok: true })
  expect((await system.types.get('resize'))?.purges).toMatchObject([{ statuses: ['ready'] }])
})

it('a repeated purge replaces the first; an eleventh one at the same time is refused', async () => {
  await aPurge(system, 'ready')
  await aPurge(system, 'ready', 'failed')
  const merged = (await system.types.get('resize'))?.purges

  const answers = []
  for (let nth = 0; nth < 10; nth++) {
    const which = { statuses: ['delayed' as const], before: NOW - nth, askedAt: NOW }
    answers.push((await startPurge(system, 'resize', which)).ok)
  }

  expect(merged).toMatchObject([{ statuses: ['ready', 'failed'] }])
  expect(answers).toEqual([...Array(9).fill(true), false])
  expect(await startPurge(system, 'nobody', { statuses: ['ready'], before: 0, askedAt: 0 })).toEqual({
    ok: false,
    reason: 'unknown',
  })
})

it.each([
  [
    'a removal deletes the bodies of a task that is due in ten years',
    { dueAt: 3_650 * DAY, retentionMs: DAY },
    undefined,
  ],
  [
    'a removal deletes the bodies of a task that is kept for years',
    { dueAt: 0, retentionMs: 1_000 * DAY },
    undefined,
  ],
  ['a removal leaves bodies to DynamoDB that expire soon', { dueAt: 0, retentionMs: 7 * DAY }, LONG],
])('%s', async (_name, { dueAt, retentionMs }, left) => {
  const task = await stored(system, {
    dueAt: system.clock.now() + dueAt,
    input: LONG,
    options: { retentionMs },
  })

  await removeTask(system, task.id)

  const ref = task.input && 'ref' in task.input ? task.input.ref : ''
  expect(await system.tasks.body(task.id, ref)).toBe(left)
})

it('a purge deletes the run records of its tasks, and what the runs logged', async () => {
  const options = { retentionMs: 1_000 * DAY, retry: { maxRetries: 0 } }
  const task = await claimed(system, await stored(system, { options }))
  const error = { name: 'Error', message: 'no' }
  await worded(system, task, { outcome: 'fail', error, log: 'what it logged', fatal: true })
  const before = await system.tasks.runRecords(task.id, task.born, 10)
  await system.clock.advance(MINUTE)

  await aPurge(system, 'failed')
  await serve(system)

  expect(before).toMatchObject([{ log: 'what it logged' }])
  expect(await system.tasks.runRecords(task.id, task.born, 10)).toEqual([])
})

function pageWith({ id, dueAt }: Task) {
  return async () => ({ entries: [{ id, sort: dueAt }], more: false })
}
