import { describe, expect, it } from 'vitest'
import type { Task } from '../../../shared/core/task/task.ts'
import { look, type Plan, plan } from '../../../shared/core/wake.ts'
import {
  aCanvas,
  afterOf,
  anEndedRun,
  aRun,
  aTask,
  BORN,
  changeOf,
  DAY,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'
import { nextWake } from '../../support/tasks/next-wake.ts'

const SLACK = 500
const LEASE_END = NOW + 15 * SECOND
const far = NOW + 15 * MINUTE + 1
const farMinute = Math.floor(far / MINUTE)
const two = { options: { concurrency: 2 } } as const
const targeted = { options: { workerIds: ['a', 'b'] } } as const
const ended = { state: 'succeeded', finishedAt: NOW } as const

describe('the plan of a task', () => {
  it.each<[string, Task, Plan]>([
    ['due: a dispatch now', aTask(), { dispatchAt: NOW }],
    ['long due: a dispatch now', aTask({ dueAt: NOW - DAY }), { dispatchAt: NOW }],
    ['of a webhook: the same', aTask({ kind: 'webhook' }), { dispatchAt: NOW }],
    ['due within a queue delay: a dispatch then', aTask({ dueAt: far - 1 }), { dispatchAt: far - 1 }],
    ['due later: its minute', aTask({ dueAt: far }), { minute: farMinute }],
    ['running: a look at its lease end', aTask({ live: [aRun()] }), { lookAt: LEASE_END + SLACK }],
    [
      'running with a limit that comes first: a look then',
      aTask({ live: [aRun({ timeoutAt: NOW + 9 })] }),
      { lookAt: NOW + 9 + SLACK },
    ],
    [
      'running with a limit that comes later: a look at its lease end',
      aTask({ live: [aRun({ timeoutAt: NOW + DAY })] }),
      { lookAt: LEASE_END + SLACK },
    ],
    [
      'running twice: a look at the first lease end',
      aTask({ ...two, live: [aRun(), aRun({ fence: 2, workerId: 'w2', leaseUntil: NOW + 9 })] }),
      { lookAt: NOW + 9 + SLACK },
    ],
    [
      'running and wanting another worker: both a dispatch and a look',
      aTask({ ...two, live: [aRun()] }),
      { dispatchAt: NOW, lookAt: LEASE_END + SLACK },
    ],
    [
      'running and wanting another worker much later: its minute, and a look at the lease end',
      aTask({ ...two, live: [aRun()], dueAt: far }),
      { minute: farMinute, lookAt: LEASE_END + SLACK },
    ],
    [
      'with a deadline: a look then, with no slack',
      aTask({ deadlineAt: NOW + HOUR }),
      { dispatchAt: NOW, lookAt: NOW + HOUR },
    ],
    [
      'running into its deadline: a look then',
      aTask({ live: [aRun()], deadlineAt: NOW + 9 }),
      { lookAt: NOW + 9 },
    ],
    [
      'due later with a deadline after that: its minute only',
      aTask({ dueAt: far, deadlineAt: far + 1 }),
      { minute: farMinute },
    ],
    [
      'its retry due only after its deadline: the minute of the deadline',
      aTask({ dueAt: NOW + DAY, retrying: true, deadlineAt: NOW + HOUR }),
      { minute: Math.floor((NOW + HOUR) / MINUTE) },
    ],
    [
      'its retry due only after a deadline within 15 minutes: a look at the deadline',
      aTask({ dueAt: NOW + DAY, retrying: true, deadlineAt: NOW + MINUTE }),
      { lookAt: NOW + MINUTE },
    ],
    [
      'due, in the line of a limit: nothing, since looks at the line dispatch it',
      aTask({ wait: { kind: 'slot', limit: 'resize' } }),
      {},
    ],
    [
      'in a line, with a deadline: a look at the deadline',
      aTask({ wait: { kind: 'permit', limit: 'resize=a' }, deadlineAt: far }),
      { lookAt: far },
    ],
    [
      'running and wanting no other worker, with a due time far ahead: a look at its lease end',
      aTask({ live: [aRun()], dueAt: far }),
      { lookAt: LEASE_END + SLACK },
    ],
    ['over HTTP and due: nothing, its workers find it', aTask({ kind: 'http' }), {}],
    ['over HTTP, not due: a look then', aTask({ kind: 'http', dueAt: NOW + 9 }), { lookAt: NOW + 9 }],
    ['over HTTP, due later: its minute', aTask({ kind: 'http', dueAt: far }), { minute: farMinute }],
    [
      'over HTTP, running: a look at its lease end',
      aTask({ kind: 'http', live: [aRun()] }),
      { lookAt: LEASE_END + SLACK },
    ],
    [
      'over HTTP, running, wanting another worker before the lease ends: a look then',
      aTask({ kind: 'http', ...two, live: [aRun()], dueAt: NOW + 9 }),
      { lookAt: NOW + 9 },
    ],
    ['targeted and due: a marker for each of its workers', aTask(targeted), { markFor: ['a', 'b'] }],
    ['targeted, over HTTP: the same', aTask({ ...targeted, kind: 'http' }), { markFor: ['a', 'b'] }],
    ['targeted, not due: a look then', aTask({ ...targeted, dueAt: NOW + 9 }), { lookAt: NOW + 9 }],
    ['targeted, due later: its minute', aTask({ ...targeted, dueAt: far }), { minute: farMinute }],
    [
      'targeted, one of its workers running it: a marker for the other, and a look at the lease end',
      aTask({ options: { ...targeted.options, concurrency: 2 }, live: [aRun({ workerId: 'a' })] }),
      { markFor: ['b'], lookAt: LEASE_END + SLACK },
    ],
    [
      'targeted, one of its workers with its own budget spent: a marker for the other',
      aTask({
        options: { ...targeted.options, retry: { scope: 'worker', maxRetries: 0 } },
        ended: [anEndedRun({ workerId: 'a', state: 'failed' })],
      }),
      { markFor: ['b'] },
    ],
    [
      'targeted, wanting no other worker: a look at the lease end',
      aTask({ ...targeted, live: [aRun({ workerId: 'a' })] }),
      { lookAt: LEASE_END + SLACK },
    ],
    ['succeeded: nothing', aTask(ended), {}],
    ['failed: nothing', aTask({ ...ended, state: 'failed', deadlineAt: NOW }), {}],
    ['cancelled: nothing', aTask({ ...ended, state: 'cancelled' }), {}],
    ['removed: nothing', aTask({ state: 'removed' }), {}],
  ])('%s', (_name, task, expected) => {
    expect(plan(task, NOW)).toEqual(expected)
  })

  it('of a task over HTTP whose minute is woken is a look when it is due', () => {
    const task = aTask({ kind: 'http', dueAt: NOW + HOUR })

    expect(plan(task, NOW + 58 * MINUTE)).toEqual({ lookAt: NOW + HOUR })
  })

  it('of a task of a handler whose minute is woken is a dispatch when it is due', () => {
    const task = aTask({ dueAt: NOW + HOUR })

    expect(plan(task, NOW + 58 * MINUTE)).toEqual({ dispatchAt: NOW + HOUR })
  })
})

it.each<[string, Task, number | undefined]>([
  ['when it is due', aTask({ dueAt: NOW + 9 }), NOW + 9],
  ['when it is due, in the far future', aTask({ dueAt: NOW + DAY }), NOW + DAY],
  ['at its deadline, before its far retry', aTask({ dueAt: NOW + DAY, deadlineAt: NOW + HOUR }), NOW + HOUR],
  ['at the end of a lease', aTask({ live: [aRun()] }), LEASE_END + SLACK],
  ['now, to mark it', aTask(targeted), NOW],
  ['never, while it waits for HTTP workers', aTask({ kind: 'http' }), undefined],
  ['never, once it has ended', aTask(ended), undefined],
])('a task needs attention next: %s', (_name, task, expected) => {
  expect(nextWake(task, NOW)).toBe(expected)
})

describe('a look', () => {
  it.each<[string, Task]>([
    ['before the task is due', aTask({ dueAt: NOW + 1 })],
    ['at a task that has a dispatch', aTask()],
    ['before the lease ends', aTask({ live: [aRun({ leaseUntil: NOW + 1 })] })],
    ['before the limit of the run', aTask({ live: [aRun({ timeoutAt: NOW + 1 })] })],
    ['before the deadline', aTask({ deadlineAt: NOW + 1 })],
    ['at a task over HTTP that is in its place', aTask({ kind: 'http' })],
    ['at a targeted task, whose markers are not part of its head', aTask({ ...targeted, kind: 'http' })],
    ['at a task that has ended', aTask({ ...ended, deadlineAt: NOW })],
    ['at a removed task', aTask({ state: 'removed' })],
  ])('finds nothing yet %s', (_name, task) => {
    expect(look(task, NOW, 0)).toEqual({ ok: false, reason: 'nothing-yet' })
  })

  it('records a passed deadline, even while runs are live', () => {
    const task = aTask({
      ...two,
      live: [aRun(), aRun({ fence: 2, workerId: 'w2', leaseUntil: NOW })],
      deadlineAt: NOW,
    })

    const after = afterOf(look(task, NOW, 0))

    expect(after).toMatchObject({
      state: 'failed',
      operation: 'expire',
      live: {},
      error: { name: 'DeadlineExceeded' },
    })
    expect(Object.values(after.ended)).toMatchObject([
      { state: 'failed', cause: 'timed-out' },
      { state: 'failed', cause: 'timed-out' },
    ])
  })

  it('records a passed deadline of a waiting task', () => {
    expect(afterOf(look(aTask({ dueAt: NOW + DAY, deadlineAt: NOW }), NOW, 0)).state).toBe('failed')
  })

  it('records a lost run, judged by its lease', () => {
    const { after, guard } = changeOf(look(aTask({ live: [aRun({ leaseUntil: NOW })] }), NOW, 0))

    expect(after).toMatchObject({ operation: 'lose', live: {} })
    expect(guard).toMatchObject({ leases: [{ fence: 1, leaseUntil: NOW }] })
  })

  it('fails a run over its timeout, and the retry waits for the backoff', () => {
    const task = aTask({ live: [aRun({ startedAt: NOW - 100, timeoutAt: NOW })] })

    const { after, bodies } = changeOf(look(task, NOW, 0))

    expect(after).toMatchObject({
      state: 'open',
      operation: 'fail',
      failures: 1,
      retrying: true,
      dueAt: NOW + SECOND,
    })
    expect(after.ended[1]).toMatchObject({
      state: 'failed',
      cause: 'timed-out',
      error: { name: 'TimedOut', message: 'the run took longer than 100 ms' },
    })
    expect(bodies).toHaveLength(1)
  })

  it('fails the task with the last run that its budget allows', () => {
    const task = aTask({
      options: { retry: { maxRetries: 1 } },
      ended: [anEndedRun({ state: 'failed' })],
      live: [aRun({ fence: 2, timeoutAt: NOW })],
    })

    expect(afterOf(look(task, NOW, 0))).toMatchObject({ state: 'failed', error: { name: 'TimedOut' } })
  })

  it('moves a due task over HTTP to its ready place', () => {
    const task = aTask({ kind: 'http', dueAt: NOW + 9, revision: 3 })

    const { after, guard } = changeOf(look(task, NOW + 9, 0))

    expect(after).toMatchObject({ operation: 'surface', revision: 4, place: { name: 'ready#resize#0' } })
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 3, leases: [] })
  })

  it('moves a due task over HTTP from its minute to its ready place', () => {
    const task = aTask({ kind: 'http', dueAt: NOW + HOUR })

    expect(afterOf(look(task, NOW + HOUR, 0)).place?.name).toBe('ready#resize#0')
  })
})

it('the jobs function gets a large canvas at its publish, and no new message at each record of progress', () => {
  const canvas = { tree: { inline: null }, leaves: 5_000, started: false }
  const published = aCanvas({ canvas })

  expect(plan(published, NOW)).toEqual({ driveAt: NOW })
  expect(plan({ ...published, operation: 'patch' }, NOW)).toEqual({})
})
