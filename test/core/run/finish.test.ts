import { describe, expect, it } from 'vitest'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { lose } from '../../../shared/core/run/lease.ts'
import type { Finish, Outcome } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { fitError } from '../../../shared/core/task-error/task-error.ts'
import { look } from '../../../shared/core/wake.ts'
import type { TaskParts } from '../../support/tasks/a-task.ts'
import {
  afterOf,
  anEndedRun,
  aRun,
  aTask,
  BORN,
  changeOf,
  DAY,
  LATER_BORN,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

const error = { name: 'Error', message: 'no luck' }
const of = (outcome: Outcome, fence = 1): Finish => ({ born: BORN, fence, ...outcome })
const succeed = (result?: string) => of({ outcome: 'succeed', ...(result !== undefined && { result }) })
const fail = of({ outcome: 'fail', error })
const release = of({ outcome: 'release' })
const running = (parts: Parameters<typeof aTask>[0] = {}) => aTask({ live: [aRun()], ...parts })

describe('a success', () => {
  it('ends a task that needs one success, with its result', () => {
    const { after, guard } = changeOf(
      finish(running({ options: { retentionMs: DAY } }), succeed('ok'), NOW + 5, 0),
    )

    expect(after).toMatchObject({
      state: 'succeeded',
      operation: 'succeed',
      revision: 2,
      live: {},
      finishedAt: NOW + 5,
      expiresAt: NOW + 5 + DAY,
      view: { bucket: 'succeeded', sort: NOW + 5 },
    })
    expect(after.ended[1]).toEqual(anEndedRun({ endedAt: NOW + 5, result: { inline: 'ok' } }))
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 1, leases: [] })
  })

  it('without result stores none', () => {
    const after = afterOf(finish(running(), succeed(), NOW, 0))

    expect(after.ended[1]).not.toHaveProperty('result')
  })

  it('writes a large result before the head', () => {
    const { after, bodies } = changeOf(finish(running(), succeed('x'.repeat(5_000)), NOW, 0))

    expect(bodies).toEqual([expect.objectContaining({ value: 'x'.repeat(5_000) })])
    expect(after.ended[1]?.result).toMatchObject({ ref: (bodies[0] as { ref: string }).ref, bytes: 5_002 })
  })

  it('counts long after the lease has ended, unless the run was recorded as lost', () => {
    const task = aTask({ live: [aRun({ leaseUntil: NOW - DAY })] })

    expect(afterOf(finish(task, succeed(), NOW, 0)).state).toBe('succeeded')
  })

  it('counts after the deadline, unless the passed deadline was recorded', () => {
    const task = aTask({ live: [aRun()], deadlineAt: NOW - 1 })

    expect(afterOf(finish(task, succeed(), NOW, 0)).state).toBe('succeeded')
  })

  it.each([
    ['a release', of({ outcome: 'release' }), { state: 'released' }],
    ['a release for later', of({ outcome: 'release', delayMs: 5_000 }), { state: 'released' }],
    ['a failure', of({ outcome: 'fail', error }), { state: 'failed', error }],
  ])('%s after the deadline is recorded as its worker said it, and the task fails', (_which, word, run) => {
    const task = aTask({ live: [aRun()], deadlineAt: NOW - 1, options: { deadlineMs: 1_000 } })

    const after = afterOf(finish(task, word, NOW, 0))

    expect(after).toMatchObject({ state: 'failed', error: { name: 'DeadlineExceeded' }, ended: { 1: run } })
    expect(after.dueAt).toBe(task.dueAt)
    expect(after.revision).toBe(task.revision + 1)
  })

  it('after earlier failures leaves no error at the task', () => {
    const task = aTask({
      error,
      live: [aRun({ fence: 2 })],
      ended: [anEndedRun({ state: 'failed', error })],
    })

    expect(afterOf(finish(task, of({ outcome: 'succeed' }, 2), NOW, 0))).not.toHaveProperty('error')
  })

  it('is one of n: the task continues until n workers succeeded, and keeps each result', () => {
    let task = aTask({ options: { concurrency: 3 } })
    const states: string[] = []

    for (const [i, workerId] of ['w1', 'w2', 'w3'].entries()) {
      task = afterOf(claim(task, { workerId }, NOW))
      task = afterOf(finish(task, of({ outcome: 'succeed', result: workerId }, i + 1), NOW, 0))
      states.push(task.state)
    }

    expect(states).toEqual(['open', 'open', 'succeeded'])
    expect(Object.values(task.ended).map(run => run.result)).toEqual(
      ['w1', 'w2', 'w3'].map(inline => ({ inline })),
    )
  })

  it('under a lowered concurrency ends the task and cancels the other runs', () => {
    const live = [1, 2, 3].map(fence => aRun({ fence, workerId: `w${fence}` }))
    const lowered = afterOf(
      patch(aTask({ options: { concurrency: 3 }, live }), { options: { concurrency: 1 } }, NOW),
    )

    const after = afterOf(finish(lowered, succeed(), NOW, 0))

    expect(after.state).toBe('succeeded')
    expect(Object.values(after.ended).map(run => run.state)).toEqual(['succeeded', 'cancelled', 'cancelled'])
  })
})

describe('a failure', () => {
  it('is counted and waits for its retry', () => {
    const { after, bodies } = changeOf(finish(running(), fail, NOW, 0))

    expect(after).toMatchObject({ state: 'open', operation: 'fail', failures: 1, retrying: true, error })
    expect(after.dueAt).toBe(NOW + SECOND)
    expect(after.ended[1]).toMatchObject({ state: 'failed', error })
    expect(bodies).toHaveLength(1)
  })

  it.each([
    [1, 1_000],
    [2, 2_000],
    [3, 4_000],
  ])('number %d waits %d ms by the default backoff', (number, delayMs) => {
    const ended = Array.from({ length: number - 1 }, (_, i) => anEndedRun({ fence: i + 1, state: 'failed' }))
    const task = aTask({ ended, live: [aRun({ fence: number })] })

    expect(afterOf(finish(task, of({ outcome: 'fail', error }, number), NOW, 0)).dueAt).toBe(NOW + delayMs)
  })

  it('beyond the budget ends the task', () => {
    const ended = [1, 2, 3].map(fence => anEndedRun({ fence, state: 'failed' }))
    const task = aTask({ ended, live: [aRun({ fence: 4 })] })

    const after = afterOf(finish(task, of({ outcome: 'fail', error }, 4), NOW, 0))

    expect(after).toMatchObject({ state: 'failed', failures: 4, retrying: false, finishedAt: NOW, error })
  })

  const noRetries = { options: { retry: { maxRetries: 0 } } }
  it.each<[string, TaskParts, object, Partial<Task>]>([
    ['with no retries ends the task at once', noRetries, {}, { state: 'failed' }],
    [
      'that is fatal ends the task even if budget is left',
      {},
      { fatal: true },
      { state: 'failed', failures: 1, error },
    ],
    [
      'with retryInMs waits that long instead, and costs a retry',
      {},
      { retryInMs: 90_000 },
      { dueAt: NOW + 90_000, failures: 1, retrying: true },
    ],
    ['with retryInMs 0 may be retried at once', {}, { retryInMs: 0 }, { dueAt: NOW }],
    [
      'with retryInMs beyond the budget still ends the task',
      noRetries,
      { retryInMs: 1 },
      { state: 'failed' },
    ],
  ])('%s', (_name, parts, more, expected) => {
    const after = afterOf(finish(running(parts), of({ outcome: 'fail', error, ...more }), NOW, 0))

    expect(after).toMatchObject(expected)
  })

  it('keeps all of its error that fits in its record, with its log, and a short text in the head', () => {
    const long = { name: 'TypeError', message: 'm'.repeat(9_000), stack: 's'.repeat(9_000) }

    const { after, bodies } = changeOf(
      finish(running(), of({ outcome: 'fail', error: long, log: 'said' }), NOW, 0),
    )

    expect(after.ended[1]?.error).toEqual({ name: 'TypeError', message: `${'m'.repeat(119)}…` })
    expect(after.ended[1]).not.toHaveProperty('log')
    expect(bodies).toMatchObject([{ run: { error: fitError(long), log: 'said' } }])
  })

  it('under budgets per worker costs only its own worker, and follows its own backoff', () => {
    const task = aTask({
      options: { concurrency: 2, retry: { scope: 'worker', maxRetries: 1 } },
      ended: [anEndedRun({ fence: 1, workerId: 'w2', state: 'failed' })],
      live: [aRun({ fence: 2, workerId: 'w1' })],
    })

    const after = afterOf(finish(task, of({ outcome: 'fail', error }, 2), NOW, 0))

    expect(after).toMatchObject({ failuresBy: { w1: 1, w2: 1 }, dueAt: NOW, retryAtBy: { w1: NOW + SECOND } })
  })

  it.each([
    ['n × (maxRetries + 1) failures without a list', [], 4, 'failed'],
    ['one less without a list', [], 3, 'open'],
  ])('under budgets per worker, at %s, leaves the task', (_name, workerIds, failures, state) => {
    const ended = Array.from({ length: failures - 1 }, (_, i) =>
      anEndedRun({ fence: i + 1, workerId: `other${i}`, state: 'failed' }),
    )
    const task = aTask({
      options: { concurrency: 2, workerIds, retry: { scope: 'worker', maxRetries: 1 } },
      ended,
      live: [aRun({ fence: 9 })],
    })

    expect(afterOf(finish(task, of({ outcome: 'fail', error }, 9), NOW, 0)).state).toBe(state)
  })

  it.each([
    [['w1', 'w2', 'w3'], 'open'],
    [['w1', 'w2'], 'failed'],
  ])(
    'that spends the budget of w1, of %j, with 2 successes asked for, leaves the task %s',
    (workerIds, state) => {
      const task = aTask({
        options: { concurrency: 2, workerIds, retry: { scope: 'worker', maxRetries: 0 } },
        live: [aRun({ workerId: 'w1' })],
      })

      expect(afterOf(finish(task, fail, NOW, 0)).state).toBe(state)
    },
  )

  it.each([
    ['a success of a worker that is no longer listed', 'w0', 'w1', 'open'],
    ['the success of a listed worker once', 'w1', 'w2', 'failed'],
  ])('counts %s', (_what, successful, failing, state) => {
    const task = aTask({
      options: { concurrency: 2, workerIds: ['w1', 'w2'], retry: { scope: 'worker', maxRetries: 0 } },
      ended: [anEndedRun({ fence: 1, workerId: successful })],
      live: [aRun({ fence: 2, workerId: failing })],
    })

    expect(afterOf(finish(task, of({ outcome: 'fail', error }, 2), NOW, 0)).state).toBe(state)
  })

  it('leaves no lease and no limit with the ended run', () => {
    const after = afterOf(finish(aTask({ live: [aRun({ timeoutAt: NOW + MINUTE })] }), fail, NOW, 0))

    expect(Object.keys(after.ended[1] ?? {}).sort()).toEqual([
      'endedAt',
      'error',
      'fence',
      'reportDigest',
      'startedAt',
      'state',
      'workerId',
    ])
  })

  it('for good cancels the runs of the other workers', () => {
    const live = [1, 2].map(fence => aRun({ fence, workerId: `w${fence}` }))
    const task = aTask({ options: { concurrency: 2, retry: { maxRetries: 0 } }, live })

    const after = afterOf(finish(task, fail, NOW, 0))

    expect(Object.values(after.ended).map(run => run.state)).toEqual(['failed', 'cancelled'])
    expect(after.live).toEqual({})
  })
})

describe('a release', () => {
  it('makes the task ready at once and counts no retry', () => {
    const after = afterOf(finish(running({ dueAt: NOW - 5 }), release, NOW, 0))

    expect(after).toMatchObject({ state: 'open', failures: 0, dueAt: NOW - 5, retrying: false, live: {} })
    expect(after.ended[1]).toMatchObject({ state: 'released' })
  })

  it('with a delay makes the task due later', () => {
    const after = afterOf(finish(running(), of({ outcome: 'release', delayMs: MINUTE }), NOW, 0))

    expect(after).toMatchObject({ dueAt: NOW + MINUTE, retrying: false })
  })

  it('can be repeated for ever without costing a retry', () => {
    let task = aTask()
    for (let fence = 1; fence <= 50; fence++) {
      task = afterOf(claim(task, { workerId: 'w1' }, NOW))
      task = afterOf(finish(task, of({ outcome: 'release' }, fence), NOW, 0))
    }

    expect(task).toMatchObject({ state: 'open', failures: 0, fence: 50 })
  })
})

describe('a finish that was already written', () => {
  it.each<[string, Finish]>([
    ['success', succeed()],
    ['failure', fail],
    ['release', release],
  ])('as a %s is accepted again, and nothing is written', (_name, word) => {
    const after = afterOf(finish(running(), word, NOW, 0))

    expect(finish(after, word, NOW + MINUTE, 0)).toEqual({ ok: true })
  })

  it('is accepted again even after the next run began', () => {
    const failed = afterOf(finish(running(), fail, NOW, 0))
    const next = afterOf(claim(failed, { workerId: 'w2' }, NOW + MINUTE))

    expect(finish(next, fail, NOW + MINUTE, 0)).toEqual({ ok: true })
  })

  it('cannot be replaced by another outcome', () => {
    const after = afterOf(finish(running(), fail, NOW, 0))

    expect(finish(after, succeed(), NOW, 0)).toEqual({ ok: false, reason: 'ended' })
  })
})

describe('a finish is refused', () => {
  const expired = aTask({ live: [aRun({ leaseUntil: NOW })] })

  it.each<[string, string, Task | undefined]>([
    ['lost', 'when its run was recorded as lost', afterOf(lose(expired, NOW))],
    ['lost', 'when another worker took over', afterOf(claim(expired, { workerId: 'w2' }, NOW))],
    ['cancelled', 'when the task was cancelled', afterOf(cancel(running(), NOW))],
    ['removed', 'when the task was removed', remove(running(), NOW).after],
    ['removed', 'when there is none', undefined],
    ['removed', 'under another birth', aTask({ born: LATER_BORN, live: [aRun()] })],
    [
      'excluded',
      'when its worker was left out',
      afterOf(patch(running(), { options: { workerIds: ['w2'] } }, NOW)),
    ],
    [
      'timed-out',
      'when its limit was recorded',
      afterOf(look(aTask({ live: [aRun({ timeoutAt: NOW })] }), NOW, 0)),
    ],
  ])('as %s %s', (reason, _name, task) => {
    for (const word of [succeed(), fail, release]) {
      expect(finish(task, word, NOW, 0)).toEqual({ ok: false, reason })
    }
  })
})
