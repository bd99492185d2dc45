import { describe, expect, it } from 'vitest'
import { claim } from '../../../shared/core/run/claim.ts'
import { heartbeat } from '../../../shared/core/run/heartbeat.ts'
import { lose } from '../../../shared/core/run/lose.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { afterOf, aRun, aTask, BORN, changeOf, MINUTE, NOW } from '../../support/tasks/a-task.ts'

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
