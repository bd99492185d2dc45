import { describe, expect, it } from 'vitest'
import { cancel } from '../../../shared/core/operate/operate.ts'
import { type Patch, patch } from '../../../shared/core/operate/patch.ts'
import { claim, failRefusedClaim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { lose } from '../../../shared/core/run/lease.ts'
import type { Outcome } from '../../../shared/core/run/run.ts'
import { statusOf } from '../../../shared/core/status.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { look, plan } from '../../../shared/core/wake.ts'
import type { TaskParts } from '../../support/tasks/a-task.ts'
import {
  afterOf,
  anEndedRun,
  aRun,
  aTask,
  changeOf,
  HOUR,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'

const ownBudget = { scope: 'worker', delayMs: SECOND, backoff: 'fixed' } as const
const failed: Outcome = { outcome: 'fail', error: { name: 'Error', message: 'no luck' } }
const inAnHour: Outcome = { ...failed, retryInMs: HOUR }
const succeeded: Outcome = { outcome: 'succeed' }

/** A task that a, b and c may take, each with its own retries. */
const listed = (parts: TaskParts = {}) =>
  aTask({
    ...parts,
    options: { concurrency: 3, workerIds: ['a', 'b', 'c'], retry: ownBudget, ...parts.options },
  })
const unlisted = (parts: TaskParts = {}) => listed({ ...parts, options: { workerIds: [], ...parts.options } })

const claimed = (task: Task, workerId: string, now = NOW) => afterOf(claim(task, { workerId }, now))
const ended = (task: Task, workerId: string, outcome: Outcome, now = NOW) => {
  const run = Object.values(task.live).find(one => one.workerId === workerId)
  return afterOf(finish(task, { born: task.born, fence: run?.fence ?? 0, ...outcome }, now, 0))
}
const ran = (task: Task, workerId: string, outcome: Outcome, now = NOW) =>
  ended(claimed(task, workerId, now), workerId, outcome, now)
const refusal = (task: Task, workerId: string, now: number) => {
  const decision = claim(task, { workerId }, now)
  return decision.ok ? undefined : decision.reason
}

describe('under retry scope `worker`, a failed run', () => {
  it.each([
    ['with a list', listed()],
    ['without a list', unlisted()],
    ['with a list and one success wanted', listed({ options: { concurrency: 1 } })],
  ])('delays its own worker alone, %s', (_name, task) => {
    const after = ran(task, 'a', inAnHour)

    expect(after).toMatchObject({ dueAt: NOW, retrying: false, retryAtBy: { a: NOW + HOUR } })
    expect(refusal(after, 'a', NOW + HOUR - 1)).toBe('waits-for-own-retry')
    expect(refusal(after, 'b', NOW)).toBeUndefined()
    expect(refusal(after, 'a', NOW + HOUR)).toBeUndefined()
  })

  it('leaves the hour of another worker as it is', () => {
    const after = ran(ran(listed(), 'a', inAnHour), 'b', failed)

    expect(after.retryAtBy).toEqual({ a: NOW + HOUR, b: NOW + SECOND })
    expect(refusal(after, 'a', NOW + 2 * SECOND)).toBe('waits-for-own-retry')
    expect(refusal(after, 'b', NOW + 2 * SECOND)).toBeUndefined()
  })

  it('delays the whole task if it is that of a Lambda invocation, whose id never claims again', () => {
    const after = ran(unlisted(), 'lambda-1a2b', inAnHour)

    expect(after).toMatchObject({ dueAt: NOW + HOUR, retrying: true, retryAtBy: {} })
  })

  it.each([
    ['retry scope `task`', aTask({ options: { concurrency: 2, workerIds: ['a', 'b'] } })],
    ['a single worker', aTask({ options: { retry: ownBudget } })],
  ])('delays the whole task under %s', (_name, task) => {
    const after = ran(task, 'a', inAnHour)

    expect(after).toMatchObject({ dueAt: NOW + HOUR, retrying: true, retryAtBy: {} })
  })

  it('keeps no time for a worker whose budget is spent', () => {
    const after = ran(unlisted({ options: { retry: { ...ownBudget, maxRetries: 0 } } }), 'a', inAnHour)

    expect(after.retryAtBy).toEqual({})
  })

  it('that timed out, or that the store refused, delays its own worker alone, too', () => {
    const task = listed({ live: [aRun({ workerId: 'a', timeoutAt: NOW })] })
    const timedOut = afterOf(look(task, NOW, 0))
    const refused = afterOf(failRefusedClaim(listed(), { workerId: 'a' }, 'too large', NOW, 0))

    for (const after of [timedOut, refused]) {
      expect(after).toMatchObject({ dueAt: NOW, retryAtBy: { a: NOW + SECOND } })
    }
  })
})

describe('a task whose awaited workers all wait for their own retries', () => {
  const waiting = ['a', 'b', 'c'].reduce(
    (task, workerId, nth) => ran(task, workerId, { ...failed, retryInMs: (nth + 1) * HOUR }),
    listed(),
  )

  it('is delayed until the first of them', () => {
    expect(waiting).toMatchObject({ dueAt: NOW + HOUR, retrying: true, view: { sort: NOW + HOUR } })
    expect(waiting.place?.name).toMatch(/^minute#/)
    expect(statusOf(waiting, NOW)).toBe('delayed')
    expect(plan(waiting, NOW)).toEqual({ minute: (NOW + HOUR) / MINUTE })
  })

  it('is due for the next of them once the first one runs', () => {
    const after = claimed(waiting, 'a', NOW + HOUR)

    expect(after).toMatchObject({
      dueAt: NOW + 2 * HOUR,
      retryAtBy: { b: NOW + 2 * HOUR, c: NOW + 3 * HOUR },
    })
  })

  it.each<[string, (task: Task) => Task]>([
    ['the run of one is lost', task => afterOf(lose(task, NOW + HOUR + MINUTE))],
    ['one gives its run back', task => ended(task, 'a', { outcome: 'release' }, NOW + HOUR + MINUTE)],
  ])('is due at once when %s', (_name, change) => {
    const after = change(claimed(waiting, 'a', NOW + HOUR))

    expect(after).toMatchObject({ dueAt: NOW + HOUR + MINUTE, retrying: false })
    expect(refusal(after, 'a', NOW + HOUR + MINUTE)).toBeUndefined()
  })

  it.each<[string, Patch]>([
    ['lists a worker that never failed', { options: { workerIds: ['a', 'b', 'c', 'd'] } }],
    ['lists no workers any more', { options: { workerIds: [] } }],
    ['gives a new due time', { dueAt: NOW + MINUTE }],
  ])('is due at once after a patch that %s', (_name, changes) => {
    const after = afterOf(patch(waiting, changes, NOW + MINUTE))

    expect(after).toMatchObject({ dueAt: NOW + MINUTE, retrying: false })
  })

  it('has one due time after a patch to retry scope `task`', () => {
    const after = afterOf(patch(waiting, { options: { retry: { scope: 'task' } } }, NOW))

    expect(after).toMatchObject({ dueAt: NOW + HOUR, retrying: true, retryAtBy: {} })
  })
})

describe('a release with a delay', () => {
  it('holds for all workers, and shortens no retry', () => {
    const failedOnce = claimed(ran(listed(), 'a', inAnHour), 'b')

    const after = ended(failedOnce, 'b', { outcome: 'release', delayMs: MINUTE })

    expect(after).toMatchObject({ dueAt: NOW + MINUTE, retrying: false })
    expect(refusal(after, 'c', NOW)).toBe('not-due')
    expect(refusal(after, 'c', NOW + MINUTE)).toBeUndefined()
    expect(refusal(after, 'a', NOW + MINUTE)).toBe('waits-for-own-retry')
  })
})

describe('the plan', () => {
  it('marks a listed task for the workers that may claim it now, and looks again at the time of the others', () => {
    const task = ran(listed(), 'a', inAnHour)

    expect(plan(task, NOW)).toEqual({ markFor: ['b', 'c'], lookAt: NOW + HOUR })
  })

  it('dispatches a task without a list now, and looks again at the time of its failed worker', () => {
    const task = ran(unlisted(), 'a', inAnHour)

    expect(plan(task, NOW)).toEqual({ dispatchAt: NOW, lookAt: NOW + HOUR })
  })

  it('has no look for a retry while the task is in the line of a limit, or wants no worker', () => {
    const task = ran(unlisted(), 'a', inAnHour)
    const full = claimed(claimed(claimed(task, 'b'), 'c'), 'd')

    expect(plan({ ...task, wait: { kind: 'permit', limit: 'resize' } }, NOW)).toEqual({})
    expect(plan(full, NOW).lookAt).toBeLessThan(NOW + HOUR)
  })

  it.each([
    ['listed', listed(), { markFor: ['a', 'b', 'c'] }],
    ['without a list', unlisted(), { dispatchAt: NOW + HOUR }],
  ])('of a task %s announces it for a retry that a look finds due', (_name, task, announced) => {
    const waiting = ran(task, 'a', inAnHour)

    const surfaced = afterOf(look(waiting, NOW + HOUR, 0))

    expect(look(waiting, NOW + HOUR - 1, 0)).toMatchObject({ ok: false })
    expect(surfaced).toMatchObject({ operation: 'surface', retryAtBy: {} })
    expect(plan(surfaced, NOW + HOUR)).toEqual(announced)
    expect(look(surfaced, NOW + HOUR, 0)).toMatchObject({ ok: false })
  })
})

describe('the times of own retries', () => {
  const waiting = ran(unlisted({ options: { concurrency: 2 } }), 'a', inAnHour)

  it.each<[string, Task]>([
    ['its worker claims', claimed(waiting, 'a', NOW + HOUR)],
    ['any worker claims after them', claimed(waiting, 'b', NOW + HOUR)],
    ['the task succeeds', ran(ran(waiting, 'b', succeeded), 'c', succeeded)],
    ['the task is cancelled', afterOf(cancel(waiting, NOW))],
    ['the next stage begins', afterOf(patch(waiting, { stage: 'next' }, NOW))],
  ])('are dropped when %s', (_name, after) => {
    expect(after.retryAtBy).toEqual({})
  })

  it('stay when another worker succeeds, whose success is counted without a guard on the revision', () => {
    const { after, guard } = changeOf(
      finish(claimed(waiting, 'b'), { born: waiting.born, fence: waiting.fence + 1, ...succeeded }, NOW, 0),
    )

    expect(guard.kind).toBe('counted')
    expect(after.retryAtBy).toEqual({ a: NOW + HOUR })
  })

  it('are kept for at most as many workers as failures are', () => {
    const forgotten = { ...waiting, failuresBy: {}, live: { 9: aRun({ fence: 9, workerId: 'b' }) } }

    expect(ended(forgotten, 'b', failed).retryAtBy).toEqual({ b: NOW + SECOND })
  })

  it('may belong to a worker of any name', () => {
    const after = ran(ran(unlisted(), '__proto__', inAnHour), 'constructor', failed)

    expect(Object.entries(after.retryAtBy).sort()).toEqual([
      ['__proto__', NOW + HOUR],
      ['constructor', NOW + SECOND],
    ])
    expect(refusal(after, '__proto__', NOW + MINUTE)).toBe('waits-for-own-retry')
    expect(refusal(after, 'toString', NOW)).toBeUndefined()
  })

  it('of earlier heads are absent, and delay no worker', () => {
    const task = unlisted({ ended: [anEndedRun({ workerId: 'a', state: 'failed' })] })

    expect(refusal(task, 'a', NOW)).toBeUndefined()
  })
})
