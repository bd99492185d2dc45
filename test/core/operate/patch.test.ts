import { describe, expect, it } from 'vitest'
import { patch } from '../../../shared/core/operate/patch.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { beatIntervalMs, heartbeat } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import {
  afterOf,
  anEndedRun,
  aRun,
  aTask,
  BORN,
  changeOf,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

describe('a patch', () => {
  it('changes the named fields and nothing else', () => {
    const task = aTask({ tags: { a: '1' }, priority: 3, options: { leaseMs: 20_000 }, revision: 2 })

    const { after, guard } = changeOf(patch(task, { priority: -1, options: { heartbeatMs: 1_000 } }, NOW + 1))

    expect(after).toEqual({
      ...task,
      operation: 'patch',
      revision: 3,
      updatedAt: NOW + 1,
      priority: -1,
      options: { ...task.options, heartbeatMs: 1_000 },
    })
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 2, leases: [] })
  })

  it('of no field is only a sign of life', () => {
    const task = aTask()

    expect(afterOf(patch(task, {}, NOW))).toEqual({ ...task, operation: 'patch', revision: 2 })
  })

  it('of the due time replaces the wait for a retry', () => {
    const task = aTask({ retrying: true, dueAt: NOW + MINUTE })

    const after = afterOf(patch(task, { dueAt: NOW + HOUR }, NOW))

    expect(after).toMatchObject({
      dueAt: NOW + HOUR,
      retrying: false,
      view: { bucket: 'open', sort: NOW + HOUR },
    })
  })

  it('of any other field keeps the wait for a retry', () => {
    expect(afterOf(patch(aTask({ retrying: true }), { priority: 1 }, NOW)).retrying).toBe(true)
  })

  it('of a large input first writes the input, under the next revision', () => {
    const task = aTask({ revision: 6, input: { inline: 1 } })

    const { after, bodies } = changeOf(patch(task, { input: 'x'.repeat(900) }, NOW))

    expect(bodies).toHaveLength(1)
    expect(after.input).toMatchObject({
      ref: expect.stringMatching(new RegExp(`^in#${BORN}#7#`)),
      bytes: 902,
    })
  })

  it('cannot overwrite the input of another patch that was decided on the same revision', () => {
    const task = aTask()
    const refs = ['x', 'y'].map(letter => {
      const [body] = changeOf(patch(task, { input: letter.repeat(900) }, NOW)).bodies
      return body?.ref
    })

    expect(refs[0]).not.toBe(refs[1])
  })

  it.each(['succeeded', 'failed', 'cancelled', 'removed'] as const)('is refused on a %s task', state => {
    expect(patch(aTask({ state, finishedAt: NOW }), { priority: 1 }, NOW)).toEqual({
      ok: false,
      reason: 'finished',
    })
  })

  it.each([[{ options: { workerIds: ['w1'] } }], [{ options: { workerIds: ['w1', 'w2'], concurrency: 3 } }]])(
    'of %j is refused, because it lists fewer workers than the task needs',
    changes => {
      const task = aTask({ options: { concurrency: 2 } })

      expect(patch(task, changes, NOW)).toEqual({ ok: false, reason: 'too-few-workers' })
    },
  )
})

describe('a patch of the deadline', () => {
  it.each<[string, Task, Parameters<typeof patch>[1], number | undefined]>([
    [
      'a new due time moves it',
      aTask({ options: { deadlineMs: 60_000 } }),
      { dueAt: NOW + HOUR },
      NOW + HOUR + MINUTE,
    ],
    [
      'a new length counts from the same start',
      aTask({ dueAt: NOW - 5_000, options: { deadlineMs: 60_000 } }),
      { options: { deadlineMs: 10_000 } },
      NOW + 5_000,
    ],
    [
      'a new length after a retry counts from the first due time, not the retry',
      aTask({ dueAt: NOW + HOUR, retrying: true, deadlineAt: NOW + MINUTE, options: { deadlineMs: 60_000 } }),
      { options: { deadlineMs: 90_000 } },
      NOW + 90_000,
    ],
    ['a first one counts from the due time', aTask(), { options: { deadlineMs: 60_000 } }, NOW + MINUTE],
    [
      'a new due time and a new length apply together',
      aTask({ options: { deadlineMs: 60_000 } }),
      { dueAt: NOW + HOUR, options: { deadlineMs: 1 } },
      NOW + HOUR + 1,
    ],
    ['a task without a deadline gets none', aTask(), { dueAt: NOW + HOUR }, undefined],
  ])('%s', (_name, task, changes, deadlineAt) => {
    expect(afterOf(patch(task, changes, NOW)).deadlineAt).toBe(deadlineAt)
  })
})

describe('a patch of a running task', () => {
  const live = [1, 2].map(fence => aRun({ fence, workerId: `w${fence}` }))

  it('that omits a worker ends the worker’s run cancelled, with no retry counted', () => {
    const task = aTask({ options: { concurrency: 2 }, live })

    const { after, bodies } = changeOf(patch(task, { options: { workerIds: ['w2', 'w3'] } }, NOW))

    expect(Object.keys(after.live)).toEqual(['2'])
    expect(after.ended[1]).toMatchObject({ state: 'cancelled', cause: 'excluded' })
    expect(after.failures).toBe(0)
    expect(bodies).toMatchObject([{ run: { fence: 1, state: 'cancelled' } }])
  })

  it('that lists all its workers, or none, ends no run', () => {
    const task = aTask({ options: { concurrency: 2 }, live })

    for (const workerIds of [[], ['w1', 'w2']]) {
      expect(afterOf(patch(task, { options: { workerIds } }, NOW)).live).toEqual(task.live)
    }
  })

  it('changes the lease of runs claimed afterwards; a live run keeps its own after any number of patches', () => {
    const task = aTask({ options: { concurrency: 2 }, live: [aRun()] })
    const once = afterOf(patch(task, { options: { leaseMs: 60_000 } }, NOW))
    const twice = afterOf(patch(once, { options: { leaseMs: 90_000 } }, NOW))
    const both = afterOf(claim(twice, { workerId: 'w2' }, NOW))
    const beat = (fence: number) => heartbeat(both, { born: BORN, fence }, NOW)

    expect(beat(1)).toMatchObject({ leaseUntil: NOW + 15 * SECOND })
    expect(beat(2)).toMatchObject({ leaseUntil: NOW + 90 * SECOND })
    expect(both.live[2]).not.toHaveProperty('leaseMs')
  })

  it.each([
    ['shorter: the new interval', { heartbeatMs: 1_000 }, 1_000],
    ['longer: at most two thirds of the run’s own lease', { heartbeatMs: 50_000, leaseMs: 150_000 }, 10_000],
    ['unchanged, with a shorter lease for later runs only', { leaseMs: 6_000 }, 5_000],
  ])(
    'sets the time until a run’s next heartbeat, with a new interval that is %s',
    (_name, options, expected) => {
      const patched = afterOf(patch(aTask({ live: [aRun()] }), { options }, NOW))

      expect(beatIntervalMs(patched, 1)).toBe(expected)
    },
  )

  it('that does not change the lease stores nothing with the runs', () => {
    const task = aTask({ live: [aRun()] })

    expect(afterOf(patch(task, { options: { leaseMs: 15_000, heartbeatMs: 700 } }, NOW)).live).toEqual(
      task.live,
    )
  })

  it('does not shorten the time limit of a run that has begun', () => {
    const task = aTask({ options: { timeoutMs: 60_000 }, live: [aRun({ timeoutAt: NOW + MINUTE })] })

    const patched = afterOf(patch(task, { options: { timeoutMs: 1_000 } }, NOW))

    expect(look(patched, NOW + 2 * SECOND, 0)).toEqual({ ok: false, reason: 'nothing-yet' })
  })

  it('to a concurrency that is already reached makes the task succeed, and cancels its live runs', () => {
    const task = aTask({
      options: { concurrency: 3 },
      ended: [anEndedRun({ fence: 1 })],
      live: [aRun({ fence: 2, workerId: 'w2' })],
    })

    const after = afterOf(patch(task, { options: { concurrency: 1 } }, NOW))

    expect(after).toMatchObject({ state: 'succeeded', finishedAt: NOW, live: {} })
    expect(after.ended[2]?.state).toBe('cancelled')
  })

  it('to a budget that is already spent makes the task fail', () => {
    const error = { name: 'Error', message: 'second' }
    const task = aTask({ error, ended: [1, 2].map(fence => anEndedRun({ fence, state: 'failed' })) })

    const after = afterOf(patch(task, { options: { retry: { maxRetries: 1 } } }, NOW))

    expect(after).toMatchObject({ state: 'failed', error })
  })
})
