import { describe, expect, it } from 'vitest'
import { TOMBSTONE_MS } from '../../../shared/core/bounds.ts'
import { cancel, purge, rangesOfPurge, remove } from '../../../shared/core/operate/operate.ts'
import { create, isGone } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import type { Status } from '../../../shared/core/task/lifecycle.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import type { PurgeJob } from '../../../shared/core/types/task-type.ts'
import { look, plan } from '../../../shared/core/wake.ts'
import {
  aFlow,
  afterOf,
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  DAY,
  HOUR,
  LATER_BORN,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'
import { aFlowTask } from '../../support/tasks/flow-life.ts'

describe('a cancel', () => {
  it('ends the task and its runs, and keeps the record', () => {
    const task = aTask({
      options: { concurrency: 3, retentionMs: DAY },
      live: [aRun({ fence: 2 }), aRun({ fence: 3, workerId: 'w2' })],
      ended: [anEndedRun({ fence: 1, workerId: 'w3' })],
    })

    const { after, guard } = changeOf(cancel(task, NOW + 5))

    expect(after).toMatchObject({ state: 'cancelled', operation: 'cancel', finishedAt: NOW + 5, live: {} })
    expect(after.expiresAt).toBe(NOW + 5 + DAY)
    expect(Object.values(after.ended).map(run => run.state)).toEqual(['succeeded', 'cancelled', 'cancelled'])
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 1, leases: [] })
  })

  it('of a task that waits for its retry leaves nothing to retry', () => {
    expect(afterOf(cancel(aTask({ retrying: true, dueAt: NOW + HOUR }), NOW)).retrying).toBe(false)
  })

  it('of a task due in the far future leaves its minute', () => {
    expect(afterOf(cancel(aTask({ dueAt: NOW + HOUR }), NOW))).not.toHaveProperty('place')
  })

  it.each([
    ['cancelled', 'already-cancelled'],
    ['succeeded', 'finished'],
    ['failed', 'finished'],
    ['removed', 'finished'],
  ] as const)('of a %s task changes nothing: %s', (state, reason) => {
    expect(cancel(aTask({ state, finishedAt: NOW }), NOW)).toEqual({ ok: false, reason })
  })
})

describe('a removed task', () => {
  const task = aTask({
    fence: 3,
    revision: 6,
    userId: 'u',
    input: { inline: 1 },
    kind: 'http',
    live: [aRun({ fence: 3 })],
  })
  const { after: tombstone, guard } = remove(task, NOW)

  it('leaves a tombstone that outlives every message and remembers birth, revision and fence', () => {
    expect(tombstone).toMatchObject({
      state: 'removed',
      born: BORN,
      revision: 7,
      fence: 3,
      live: {},
      ended: {},
      expiresAt: NOW + TOMBSTONE_MS,
    })
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 6, leases: [] })
    expect(isGone(tombstone, NOW)).toBe(true)
  })

  it('is in no index and keeps no body', () => {
    for (const name of ['view', 'place', 'userId', 'input']) expect(tombstone).not.toHaveProperty(name)
  })

  it('never fires, even if already dispatched', () => {
    expect(claim(tombstone, { workerId: 'w1' }, NOW)).toMatchObject({ ok: false, reason: 'finished' })
    expect(look(tombstone, NOW, 0)).toMatchObject({ ok: false })
    expect(plan(tombstone, NOW)).toEqual({})
  })

  it('published again is a new birth whose revision and fence count on', () => {
    const { after, guard } = create(aPublication({ born: LATER_BORN }), tombstone, NOW)

    expect(after).toMatchObject({ born: LATER_BORN, state: 'open', revision: 8, fence: 3 })
    expect(after).not.toHaveProperty('expiresAt')
    expect(guard).toMatchObject({ born: BORN, revision: 7 })
    expect(claim(after, { workerId: 'w1' }, NOW)).toMatchObject({ ok: true, run: { fence: 4 } })
  })
})

const OLD = { createdAt: NOW - MINUTE, updatedAt: NOW - MINUTE }

function job(status: Status, parts: Partial<PurgeJob> = {}): PurgeJob {
  return { kind: 'purge', statuses: [status], before: NOW, askedAt: NOW, ...parts }
}

const TASKS: Record<Status, Task> = {
  delayed: aTask({ ...OLD, dueAt: NOW + MINUTE }),
  ready: aTask(OLD),
  running: aTask({ ...OLD, live: [aRun()] }),
  compensating: undoing(),
  succeeded: aTask({ ...OLD, state: 'succeeded', finishedAt: NOW - 1 }),
  failed: aTask({ ...OLD, state: 'failed', finishedAt: NOW - 1 }),
  cancelled: aTask({ ...OLD, state: 'cancelled', finishedAt: NOW - 1 }),
}
const STATUSES = Object.keys(TASKS) as Status[]

describe('a purge', () => {
  it.each(STATUSES)('of %s tasks removes exactly those', status => {
    const removed = STATUSES.filter(name => purge(TASKS[name], job(status), NOW + SECOND).ok)

    expect(removed).toEqual([status])
  })

  it('leaves a tombstone, as a removal does', () => {
    const { after } = changeOf(purge(TASKS.succeeded, job('succeeded'), NOW))

    expect(after).toMatchObject({ state: 'removed', operation: 'remove' })
    expect(after.view).toBeUndefined()
  })

  it.each<[string, Task, Partial<PurgeJob>, boolean]>([
    ['an open task published just before', aTask({ ...OLD, createdAt: NOW - 1 }), {}, true],
    ['an open task published at that time', aTask({ createdAt: NOW }), {}, false],
    ['a task that becomes due after the purge was asked for', aTask({ ...OLD, dueAt: NOW + 1 }), {}, false],
    ['a task published after `before`', aTask(OLD), { before: NOW - 2 * MINUTE }, false],
  ])('of ready tasks removes or keeps %s', (_name, task, parts, isRemoved) => {
    expect(purge(task, job('ready', parts), NOW + 5 * SECOND).ok).toBe(isRemoved)
  })

  it('of delayed tasks also removes those that became due after it was asked for', () => {
    const task = aTask({ ...OLD, dueAt: NOW + SECOND })

    expect(purge(task, job('delayed'), NOW + 5 * SECOND).ok).toBe(true)
  })

  it('judges ended tasks by their end, not by their publish', () => {
    const task = aTask({ ...OLD, state: 'failed', finishedAt: NOW + 1 })

    expect(purge(task, job('failed'), NOW + SECOND).ok).toBe(false)
    expect(purge(TASKS.failed, job('failed', { before: NOW - 1 }), NOW).ok).toBe(false)
  })

  it('skips tasks that are gone already', () => {
    const removed = changeOf(purge(TASKS.failed, job('failed'), NOW)).after
    const expired = aTask({ ...OLD, state: 'failed', finishedAt: NOW - MINUTE, expiresAt: NOW })

    expect(purge(removed, job('failed'), NOW).ok).toBe(false)
    expect(purge(expired, job('failed'), NOW).ok).toBe(false)
  })

  it.each<[Status[], ReturnType<typeof rangesOfPurge>]>([
    [['delayed'], [{ bucket: 'open', from: NOW + 1 }]],
    [['ready'], [{ bucket: 'open', to: NOW }]],
    [['delayed', 'ready'], [{ bucket: 'open' }]],
    [['running'], [{ bucket: 'open' }]],
    [['compensating'], [{ bucket: 'compensating' }]],
    [
      ['succeeded', 'cancelled'],
      [
        { bucket: 'open', to: NOW },
        { bucket: 'succeeded', to: NOW - MINUTE - 1 },
        { bucket: 'cancelled', to: NOW - MINUTE - 1 },
      ],
    ],
  ])('of %j tasks reads the ranges in which they are listed', (statuses, ranges) => {
    const asked = { kind: 'purge' as const, statuses, before: NOW - MINUTE, askedAt: NOW }

    expect(rangesOfPurge(asked)).toEqual(ranges)
  })
})

function undoing(): Task {
  const task = aFlowTask(aFlow())
  if (!task.flow) throw new Error('no flow')
  return { ...task, ...OLD, flow: { ...task.flow, direction: 'undo' } }
}
