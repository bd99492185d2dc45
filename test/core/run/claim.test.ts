import { describe, expect, it } from 'vitest'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { type Claimer, type ClaimRefusal, claim, judgeClaim } from '../../../shared/core/run/claim.ts'
import { heartbeat } from '../../../shared/core/run/lease.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import {
  afterOf,
  anEndedRun,
  aRun,
  aTask,
  changeOf,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

const w1: Claimer = { workerId: 'w1' }
const expired = { startedAt: NOW - MINUTE, leaseUntil: NOW }
const ownBudget = { retry: { scope: 'worker', maxRetries: 1 } } as const

describe('a claim succeeds', () => {
  it.each<[string, Task, Claimer]>([
    ['on a task that is due this very moment', aTask({ dueAt: NOW }), w1],
    ['by anyone when no workers are listed', aTask({ options: { workerIds: [] } }), { workerId: 'anyone' }],
    ['by a listed worker', aTask({ options: { workerIds: ['w1', 'w2'] } }), w1],
    [
      'by a worker of the minimum version',
      aTask({ options: { minWorkerVersion: '1.2' } }),
      { ...w1, version: '1.2' },
    ],
    [
      'by a newer worker',
      aTask({ options: { minWorkerVersion: '1.9' } }),
      { workerId: 'w1', version: '1.10' },
    ],
    [
      'while another worker holds one of two slots',
      aTask({ options: { concurrency: 2 }, live: [aRun({ workerId: 'w2' })] }),
      w1,
    ],
    [
      'after another worker succeeded on one of two',
      aTask({ options: { concurrency: 2 }, ended: [anEndedRun({ workerId: 'w2' })] }),
      w1,
    ],
    ['again by a worker that failed', aTask({ ended: [anEndedRun({ state: 'failed' })] }), w1],
    [
      'as the last retry of the budget',
      aTask({ ended: [1, 2, 3].map(fence => anEndedRun({ fence, state: 'failed' })) }),
      w1,
    ],
    [
      'as the last retry of the worker',
      aTask({ options: { concurrency: 2, ...ownBudget }, ended: [anEndedRun({ state: 'failed' })] }),
      w1,
    ],
    [
      'by a worker whose name is the name of an object member, with a budget of its own',
      aTask({ options: ownBudget }),
      { workerId: 'constructor' },
    ],
    [
      'by a fresh worker where another has spent its own budget',
      aTask({
        options: { concurrency: 2, ...ownBudget },
        ended: [1, 2].map(fence => anEndedRun({ fence, workerId: 'w2', state: 'failed' })),
      }),
      w1,
    ],
    ['a moment before the deadline', aTask({ deadlineAt: NOW + 1 }), w1],
    ['over a run whose lease has just ended', aTask({ live: [aRun({ workerId: 'w2', ...expired })] }), w1],
    ['over its own run whose lease has ended', aTask({ live: [aRun({ workerId: 'w1', ...expired })] }), w1],
  ])('%s', (_name, task, claimer) => {
    const decision = claim(task, claimer, NOW)

    expect(decision).toMatchObject({ ok: true, run: { workerId: claimer.workerId, fence: task.fence + 1 } })
  })
})

describe('a claim is refused', () => {
  it.each<[ClaimRefusal, string, Task, Claimer]>([
    ['finished', 'on a succeeded task', aTask({ state: 'succeeded', finishedAt: NOW }), w1],
    ['finished', 'on a failed task', aTask({ state: 'failed', finishedAt: NOW }), w1],
    ['finished', 'on a cancelled task', aTask({ state: 'cancelled', finishedAt: NOW }), w1],
    ['finished', 'on a removed task', aTask({ state: 'removed' }), w1],
    ['finished', 'at the deadline', aTask({ deadlineAt: NOW }), w1],
    ['not-due', 'a millisecond before it is due', aTask({ dueAt: NOW + 1 }), w1],
    ['not-allowed', 'to a worker that is not listed', aTask({ options: { workerIds: ['w2'] } }), w1],
    [
      'not-allowed',
      'to an older worker',
      aTask({ options: { minWorkerVersion: '1.10' } }),
      { workerId: 'w1', version: '1.9' },
    ],
    ['not-allowed', 'to a worker without version', aTask({ options: { minWorkerVersion: '1' } }), w1],
    [
      'holds-run',
      'to a worker that holds a run of it',
      aTask({ options: { concurrency: 2 }, live: [aRun({ workerId: 'w1' })] }),
      w1,
    ],
    [
      'already-succeeded',
      'to a worker that has succeeded on it',
      aTask({ options: { concurrency: 2 }, ended: [anEndedRun({ workerId: 'w1' })] }),
      w1,
    ],
    [
      'budget-spent',
      'to a worker that has spent its own budget',
      aTask({
        options: { concurrency: 2, ...ownBudget },
        ended: [1, 2].map(fence => anEndedRun({ fence, state: 'failed' })),
      }),
      w1,
    ],
    ['no-worker-wanted', 'while its only worker runs it', aTask({ live: [aRun({ workerId: 'w2' })] }), w1],
    [
      'no-worker-wanted',
      'a millisecond before the lease of the only slot ends',
      aTask({ live: [aRun({ workerId: 'w2', leaseUntil: NOW + 1 })] }),
      w1,
    ],
    [
      'no-worker-wanted',
      'when successes and live runs hold all slots',
      aTask({
        options: { concurrency: 2 },
        live: [aRun({ fence: 2, workerId: 'w3' })],
        ended: [anEndedRun({ workerId: 'w2' })],
      }),
      w1,
    ],
    [
      'no-worker-wanted',
      'when a lowered concurrency left more live runs than slots',
      aTask({
        options: { concurrency: 1 },
        live: [2, 3].map(fence => aRun({ fence, workerId: `w${fence}` })),
      }),
      w1,
    ],
    [
      'not-allowed',
      'to take over a lost run where it is not allowed',
      aTask({ options: { workerIds: ['w2'] }, live: [aRun({ workerId: 'w2', ...expired })] }),
      w1,
    ],
  ])('%s: %s', (reason, _name, task, claimer) => {
    const decision = claim(task, claimer, NOW)

    expect(decision).toMatchObject({ ok: false, reason })
  })
})

describe('a claimed task', () => {
  it('holds the run with the next fence and a lease from now', () => {
    const task = aTask({ revision: 7, fence: 4, retrying: true, options: { leaseMs: 20_000 } })

    const change = changeOf(claim(task, w1, NOW))

    expect(change.after).toMatchObject({
      operation: 'claim',
      revision: 8,
      fence: 5,
      retrying: false,
      startedAt: NOW,
    })
    expect(change.after.live).toEqual({
      5: { fence: 5, workerId: 'w1', startedAt: NOW, leaseUntil: NOW + 20 * SECOND },
    })
    expect(change.guard).toEqual({ kind: 'revision', born: task.born, revision: 7, leases: [] })
    expect(change.bodies).toEqual([])
  })

  it('keeps the time of its first claim', () => {
    const task = aTask({ startedAt: NOW - 5, ended: [anEndedRun({ state: 'failed' })] })

    expect(afterOf(claim(task, w1, NOW)).startedAt).toBe(NOW - 5)
  })

  it('gives its run the time limit of the options as they are now', () => {
    const task = aTask({ options: { timeoutMs: 60_000 } })

    expect(afterOf(claim(task, w1, NOW)).live[1]).toMatchObject({ timeoutAt: NOW + MINUTE })
  })
})

describe('a takeover', () => {
  it('records the lost run in the same write and names the lease it was judged by', () => {
    const task = aTask({ live: [aRun({ workerId: 'w2', ...expired })] })

    const { after, guard, bodies } = changeOf(claim(task, w1, NOW))

    expect(after.live).toEqual({ 2: expect.objectContaining({ workerId: 'w1' }) })
    expect(after.ended[1]).toMatchObject({ state: 'lost', workerId: 'w2', endedAt: NOW })
    expect(after.failures).toBe(1)
    expect(guard).toMatchObject({ leases: [{ fence: 1, leaseUntil: NOW }] })
    expect(bodies).toEqual([expect.objectContaining({ run: expect.objectContaining({ state: 'lost' }) })])
  })

  it('keeps a lost run of another worker while the task wants more workers', () => {
    const task = aTask({ options: { concurrency: 2 }, live: [aRun({ workerId: 'w2', ...expired })] })

    const { after, guard } = changeOf(claim(task, w1, NOW))

    expect(Object.keys(after.live)).toEqual(['1', '2'])
    expect(guard).toMatchObject({ leases: [] })
  })

  it('is refused after a heartbeat that arrived before the decision', () => {
    const task = aTask({ live: [aRun({ workerId: 'w2', ...expired })] })
    const revived = afterOf(heartbeat(task, { born: task.born, fence: 1 }, NOW))

    expect(claim(revived, w1, NOW)).toMatchObject({ ok: false, reason: 'no-worker-wanted' })
  })

  it('that finds the budget spent by the lost run records the end instead', () => {
    const task = aTask({
      live: [aRun({ fence: 4, workerId: 'w2', ...expired })],
      ended: [1, 2, 3].map(fence => anEndedRun({ fence, state: 'lost' })),
    })

    const decision = claim(task, w1, NOW)

    expect(decision).toMatchObject({ ok: false, reason: 'budget-spent' })
    expect(decision.change?.after).toMatchObject({ state: 'failed', operation: 'lose', live: {} })
    expect(decision.change?.guard).toMatchObject({ leases: [{ fence: 4, leaseUntil: NOW }] })
  })
})

it('a claim past the deadline records that the task has failed', () => {
  const task = aTask({ deadlineAt: NOW })

  const decision = claim(task, w1, NOW)

  expect(decision.change?.after).toMatchObject({
    state: 'failed',
    operation: 'expire',
    error: { name: 'DeadlineExceeded' },
  })
})

describe('a claim ahead of the start that was granted', () => {
  const startsAt = NOW + 200

  it('is of a run that starts then, with its whole lease', () => {
    const { run } = granted(claim(aTask({}), w1, NOW, { startsAt }))

    expect(run).toMatchObject({ startedAt: startsAt, leaseUntil: startsAt + aTask({}).options.leaseMs })
  })

  it('replaces no run whose lease ends between the claim and the start', () => {
    const ending = aRun({ workerId: 'w2', fence: 1, startedAt: NOW - MINUTE, leaseUntil: NOW + 100 })
    const over = aRun({ workerId: 'w3', fence: 2, ...expired })
    const task = aTask({ options: { concurrency: 2 }, live: [ending, over] })

    const { change } = granted(claim(task, w1, NOW, { startsAt }))

    expect(Object.values(change.after.live).map(({ workerId }) => workerId)).toEqual(['w2', 'w1'])
  })

  it('is refused, and writes nothing, when the deadline passes between the claim and the start', () => {
    const task = aTask({ deadlineAt: NOW + 100 })

    expect(claim(task, w1, NOW, { startsAt })).toEqual({ ok: false, reason: 'finished' })
  })

  it('leaves a run of no length when it is cancelled before the start', () => {
    const claimed = granted(claim(aTask({}), w1, NOW, { startsAt })).change.after

    const [ended] = Object.values(afterOf(cancel(claimed, NOW + 50)).ended)

    expect(ended).toMatchObject({ startedAt: NOW + 50, endedAt: NOW + 50 })
  })
})

describe('a claim of a task that was judged before', () => {
  const task = aTask({ deadlineAt: NOW + MINUTE })

  it('is the same as one that is judged when it is written', () => {
    const judged = judgeClaim(task, w1, NOW)

    expect(claim(task, w1, NOW + SECOND, {}, judged)).toEqual(claim(task, w1, NOW + SECOND))
  })

  const withLostRun = aTask({ live: [aRun({ workerId: 'w2', ...expired })] })
  it.each<[string, Task, number]>([
    ['whose deadline has passed since', task, MINUTE],
    ['that has changed since', { ...task, dueAt: NOW + MINUTE }, SECOND],
    ['with a lost run, whose end the claim records', withLostRun, SECOND],
    ['that was not due yet', aTask({ dueAt: NOW + SECOND }), SECOND],
  ])('is judged again for a task %s', (_case, present, afterMs) => {
    const before = present.deadlineAt === undefined ? present : task

    const judged = judgeClaim(before, w1, NOW)

    expect(claim(present, w1, NOW + afterMs, {}, judged)).toEqual(claim(present, w1, NOW + afterMs))
  })
})

function granted(decision: ReturnType<typeof claim>) {
  if (!decision.ok) throw new Error(`refused: ${decision.reason}`)
  return decision
}
