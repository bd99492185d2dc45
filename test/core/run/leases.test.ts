import { describe, expect, it } from 'vitest'
import { cancel, remove, restart } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { expire, heartbeat, lose } from '../../../shared/core/run/lease.ts'
import type { RunGone } from '../../../shared/core/run/run.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import {
  afterOf,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  LATER_BORN,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

const beat = { born: BORN, fence: 1 }
const running = (parts: Parameters<typeof aRun>[0] = {}, task: Parameters<typeof aTask>[0] = {}) =>
  aTask({ live: [aRun(parts)], ...task })

describe('a heartbeat', () => {
  it('moves its lease to now plus leaseMs and nothing else', () => {
    const task = running({}, { options: { leaseMs: 20_000, concurrency: 2 }, revision: 5, kind: 'http' })

    const { after, guard, bodies } = changeOf(heartbeat(task, beat, NOW + SECOND))

    expect(after).toEqual({
      ...task,
      operation: 'beat',
      live: { 1: { ...task.live[1], leaseUntil: NOW + 21 * SECOND } },
    })
    expect(guard).toEqual({ kind: 'live', born: BORN, fence: 1 })
    expect(bodies).toEqual([])
  })

  it('revives a lease that has ended but was not recorded as lost', () => {
    const task = running({ leaseUntil: NOW - MINUTE })

    const decision = heartbeat(task, beat, NOW)

    expect(decision).toMatchObject({ ok: true, leaseUntil: NOW + 15 * SECOND })
    expect(lose(afterOf(decision), NOW)).toMatchObject({ ok: false })
  })

  it('stores progress, and keeps the stored one when it reports none', () => {
    const told = afterOf(heartbeat(running(), { ...beat, progress: { done: 3 } }, NOW))

    const after = afterOf(heartbeat(told, beat, NOW))

    expect(after.live[1]?.progress).toEqual({ done: 3 })
  })

  it('can report null as progress', () => {
    const told = afterOf(heartbeat(running({ progress: 1 }), { ...beat, progress: null }, NOW))

    expect(told.live[1]?.progress).toBeNull()
  })

  it("of a handler's run enters the running place once, guarded by the revision", () => {
    const first = changeOf(heartbeat(running(), beat, NOW))
    const second = changeOf(heartbeat(first.after, beat, NOW))

    expect(first.after.place).toEqual({ name: 'running#resize#0', order: expect.any(String) })
    expect(first.guard).toEqual({ kind: 'revision', born: BORN, revision: 1, leases: [] })
    expect(second.after.place).toBe(first.after.place)
    expect(second.guard).toEqual({ kind: 'live', born: BORN, fence: 1 })
  })

  it('leaves a task in the place where it waits for another worker', () => {
    const task = running({}, { kind: 'http', options: { concurrency: 2 } })

    const after = afterOf(heartbeat(task, beat, NOW))

    expect(after.place).toBe(task.place)
  })
})

describe('a heartbeat is refused as', () => {
  const expired = running({ leaseUntil: NOW })
  const restarted = { publication: aPublication({ born: LATER_BORN }), clean: [], keepInput: true }

  it.each<[RunGone, string, Task | undefined]>([
    ['lost', 'the waker recorded its end', afterOf(lose(expired, NOW))],
    ['lost', 'another worker took over', afterOf(claim(expired, { workerId: 'w2' }, NOW))],
    ['ended', 'the task keeps no run of this fence', aTask()],
    [
      'ended',
      'its worker has reported its failure',
      afterOf(finish(running(), { ...beat, outcome: 'fail', error: { name: 'E', message: '' } }, NOW, 0)),
    ],
    ['cancelled', 'the task was cancelled', afterOf(cancel(running(), NOW))],
    [
      'cancelled',
      'another run failed for good',
      afterOf(
        finish(
          aTask({ options: { concurrency: 2 }, live: [aRun(), aRun({ fence: 2, workerId: 'w2' })] }),
          { born: BORN, fence: 2, outcome: 'fail', fatal: true, error: { name: 'E', message: '' } },
          NOW,
          0,
        ),
      ),
    ],
    ['removed', 'there is no task', undefined],
    ['removed', 'the task was removed', remove(running(), NOW).after],
    ['removed', 'the key has a later birth', aTask({ born: LATER_BORN, live: [aRun()] })],
    ['removed', 'the task was restarted', afterOf(restart(afterOf(cancel(running(), NOW)), restarted, NOW))],
    [
      'excluded',
      'the workers listed now leave it out',
      afterOf(patch(running(), { options: { workerIds: ['w2'] } }, NOW)),
    ],
    ['timed-out', 'its deadline passed', expire(running({}, { deadlineAt: NOW }), NOW).after],
    ['timed-out', 'its own limit passed', afterOf(look(running({ timeoutAt: NOW }), NOW, 0))],
  ])('%s when %s', (reason, _name, task) => {
    expect(heartbeat(task, beat, NOW)).toEqual({ ok: false, reason })
  })

  it.each([
    ['cancelled', 6, 'a cancel', (task: Task) => afterOf(cancel(task, NOW))],
    ['cancelled', 100, 'a cancel', (task: Task) => afterOf(cancel(task, NOW))],
    ['timed-out', 8, 'a deadline', (task: Task) => expire({ ...task, deadlineAt: NOW }, NOW).after],
  ])('%s to each of %d runs that %s ended together', (reason, count, _what, end) => {
    const live = Array.from({ length: count }, (_, i) => aRun({ fence: i + 1, workerId: `w${i}` }))

    const after = end(aTask({ options: { concurrency: count }, live }))

    const answers = live.map(({ fence }) => heartbeat(after, { born: BORN, fence }, NOW))
    expect(new Set(answers.map(answer => !answer.ok && answer.reason))).toEqual(new Set([reason]))
  })
})

const expired = { startedAt: NOW - MINUTE, leaseUntil: NOW }

describe('a run whose lease has ended', () => {
  it('is recorded as lost, counted, and the task is claimable at once', () => {
    const task = aTask({ dueAt: NOW - MINUTE, live: [aRun(expired)] })

    const { after, bodies } = changeOf(lose(task, NOW))

    expect(after).toMatchObject({
      state: 'open',
      operation: 'lose',
      failures: 1,
      live: {},
      dueAt: NOW - MINUTE,
    })
    expect(after.ended[1]).toMatchObject({ state: 'lost', error: { name: 'LeaseLost' } })
    expect(bodies).toMatchObject([{ run: { state: 'lost' } }])
    expect(claim(after, { workerId: 'w2' }, NOW)).toMatchObject({ ok: true, run: { fence: 2 } })
  })

  it('is recorded with at most 39 other lost runs, which one write can hold; the next look records the rest', () => {
    const live = Array.from({ length: 99 }, (_, i) => aRun({ fence: i + 1, workerId: `w${i}`, ...expired }))
    const task = aTask({ options: { concurrency: 100, retry: { maxRetries: 200 } }, live })

    const first = afterOf(lose(task, NOW))
    const second = afterOf(lose(first, NOW))

    expect(Object.keys(first.live)).toHaveLength(59)
    expect(Object.keys(second.live)).toHaveLength(19)
  })

  it('is guarded by the lease that was judged', () => {
    const live = [
      aRun({ fence: 1, ...expired }),
      aRun({ fence: 2, workerId: 'w2' }),
      aRun({ fence: 3, workerId: 'w3', startedAt: 0, leaseUntil: NOW - 9 }),
    ]
    const task = aTask({ options: { concurrency: 3 }, revision: 4, live })

    const { after, guard } = changeOf(lose(task, NOW))

    expect(guard).toEqual({
      kind: 'revision',
      born: BORN,
      revision: 4,
      leases: [
        { fence: 1, leaseUntil: NOW },
        { fence: 3, leaseUntil: NOW - 9 },
      ],
    })
    expect(Object.keys(after.live)).toEqual(['2'])
  })

  it('counts against its own worker under budgets per worker', () => {
    const task = aTask({ options: { retry: { scope: 'worker' } }, live: [aRun(expired)] })

    expect(afterOf(lose(task, NOW)).failuresBy).toEqual({ w1: 1 })
  })

  it('of a worker named like an object member is counted as a number', () => {
    const task = aTask({
      options: { retry: { scope: 'worker' } },
      live: [aRun({ workerId: 'constructor', ...expired })],
    })

    expect(afterOf(lose(task, NOW)).failuresBy).toEqual({ constructor: 1 })
  })
})

describe('nothing is lost', () => {
  it.each<[string, Task]>([
    ['a millisecond before the lease ends', aTask({ live: [aRun({ leaseUntil: NOW + 1 })] })],
    ['without live runs', aTask()],
    ['of a task that has ended', aTask({ state: 'cancelled', finishedAt: NOW, live: [aRun(expired)] })],
    [
      'when a heartbeat came first',
      afterOf(heartbeat(aTask({ live: [aRun(expired)] }), { born: BORN, fence: 1 }, NOW)),
    ],
  ])('%s', (_name, task) => {
    expect(lose(task, NOW)).toEqual({ ok: false, reason: 'nothing-lost' })
  })
})

it.each([
  ['the waker', 0],
  ['the waker', 3],
  ['the next worker', 0],
  ['the next worker', 3],
])('a task that kills its workers, recorded by %s, ends failed after %d retries', (recorder, maxRetries) => {
  let task = aTask({ options: { retry: { maxRetries } } })
  let now = NOW
  let runs = 0

  while (task.state === 'open' && runs < 100) {
    const decision = claim(task, { workerId: `w${runs}` }, now)
    task = decision.change?.after ?? task
    if (decision.ok) runs++
    now += MINUTE
    if (recorder === 'the waker') task = afterOf(lose(task, now))
  }

  expect(runs).toBe(maxRetries + 1)
  expect(task).toMatchObject({ state: 'failed', error: { name: 'LeaseLost' }, failures: maxRetries + 1 })
})
