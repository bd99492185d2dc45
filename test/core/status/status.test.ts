import { describe, expect, it } from 'vitest'
import type { Claimer } from '../../../shared/core/run/claim.ts'
import type { Served, StatusReason, WaitFacts } from '../../../shared/core/status.ts'
import { isQuiet, isStuck, statusOf, statusReasonOf } from '../../../shared/core/status.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { anEndedRun, aRun, aTask, DAY, MINUTE, NOW, type TaskParts } from '../../support/tasks/a-task.ts'

describe('the status of a task', () => {
  it.each<[string, string, Task]>([
    ['delayed', 'not due', aTask({ dueAt: NOW + 1 })],
    ['delayed', 'waiting for a retry', aTask({ dueAt: NOW + 1, retrying: true })],
    ['ready', 'due this very moment', aTask({ dueAt: NOW })],
    [
      'ready',
      'with a success, waiting for the next worker',
      aTask({ options: { concurrency: 2 }, ended: [anEndedRun()] }),
    ],
    ['running', 'with a live run', aTask({ live: [aRun()] })],
    [
      'running',
      'with a lease that ended, before the loss is recorded',
      aTask({ live: [aRun({ leaseUntil: NOW - 1 })] }),
    ],
    ['running', 'with a live run, its next attempt not due', aTask({ dueAt: NOW + 1, live: [aRun()] })],
    ['running', 'past a deadline, before that is recorded', aTask({ live: [aRun()], deadlineAt: NOW - 1 })],
    ['succeeded', 'ended', aTask({ state: 'succeeded', finishedAt: NOW })],
    ['failed', 'ended', aTask({ state: 'failed', finishedAt: NOW, dueAt: NOW + 1 })],
    ['cancelled', 'ended', aTask({ state: 'cancelled', finishedAt: NOW })],
  ])('is %s: %s', (status, _name, task) => {
    expect(statusOf(task, NOW)).toBe(status)
  })

  it('does not exist for a removed task', () => {
    expect(() => statusOf(aTask({ state: 'removed' }), NOW)).toThrow(/resize:k1 is removed/)
  })
})

describe('the reason why a task waits', () => {
  it.each<[StatusReason | undefined, string, Task, boolean]>([
    ['due', 'not due', aTask({ dueAt: NOW + 1 }), true],
    ['retry', 'waiting for a retry', aTask({ dueAt: NOW + 1, retrying: true }), true],
    ['due', 'not due, without handler', aTask({ dueAt: NOW + 1 }), false],
    ['no-handler', 'due, without handler', aTask(), false],
    ['no-handler', 'due, without the webhook handler', aTask({ kind: 'webhook' }), false],
    ['no-handler', 'due, without handler, for a worker', aTask({ options: { workerIds: ['w'] } }), false],
    [undefined, 'due, for HTTP workers', aTask({ kind: 'http' }), false],
    ['target-worker', 'due, for a listed worker', aTask({ options: { workerIds: ['w'] } }), true],
    [
      'target-worker',
      'due, for a listed HTTP worker',
      aTask({ kind: 'http', options: { workerIds: ['w'] } }),
      false,
    ],
    ['no-worker', 'due, for workers that are not there', aTask({ options: { workerIds: ['a', 'b'] } }), true],
    [
      'target-worker',
      'due, for listed workers, and one of them is live',
      aTask({ options: { workerIds: ['a', 'w'] } }),
      true,
    ],
    [
      'no-worker',
      'due, for one that is not live, while another has done its part',
      aTask({
        options: { workerIds: ['w', 'x'], concurrency: 2 },
        ended: [anEndedRun({ workerId: 'w' })],
      }),
      true,
    ],
    [undefined, 'due, with a handler', aTask(), true],
    [undefined, 'a due retry', aTask({ retrying: true }), true],
    [undefined, 'running', aTask({ live: [aRun()] }), false],
    [undefined, 'ended', aTask({ state: 'failed', finishedAt: NOW, dueAt: NOW + 1 }), false],
  ])('is %s: %s', (reason, _name, task, hasHandler) => {
    const served = { ...FREE, hasHandler, liveWorkers: [{ workerId: 'w' }] }

    expect(statusReasonOf(task, NOW, served)).toBe(reason)
  })

  const [old, recent] = [
    { workerId: 'old', version: '1.2' },
    { workerId: 'recent', version: '2.0' },
  ]
  const twice = { options: { concurrency: 2 }, ended: [anEndedRun({ workerId: 'old' })] }
  const oldWaits = {
    options: { concurrency: 2, retry: { scope: 'worker' as const } },
    retryAtBy: { old: NOW + 1 },
  }
  it.each<[StatusReason | undefined, string, Task, Claimer[]]>([
    ['no-worker', 'due, with no worker of its type', aTask(), []],
    [undefined, 'due, with a worker of its type', aTask(), [old]],
    ['no-worker', 'due, every worker being too old', aTask({ options: { minWorkerVersion: '2' } }), [old]],
    [
      undefined,
      'due, one worker being new enough',
      aTask({ options: { minWorkerVersion: '2' } }),
      [old, recent],
    ],
    ['no-worker', 'due, the only worker having done its part', aTask(twice), [old]],
    [undefined, 'due, one worker having done its part', aTask(twice), [old, recent]],
    ['due', 'not due, with no worker of its type', aTask({ dueAt: NOW + 1 }), []],
    ['retry', 'due, the only worker waiting for its own retry', aTask(oldWaits), [old]],
    [undefined, 'due, one worker waiting for its own retry', aTask(oldWaits), [old, recent]],
    [
      'retry',
      'due, the only listed worker that is live waiting for its own retry',
      aTask({ ...oldWaits, options: { ...oldWaits.options, workerIds: ['old', 'gone'] } }),
      [old, recent],
    ],
    ['no-worker', 'due, the worker with an own retry being gone', aTask(oldWaits), []],
    ['no-worker', 'due, over HTTP, with no worker', aTask({ kind: 'http' }), []],
    [
      'no-worker',
      'due, over HTTP, every worker being too old',
      aTask({ kind: 'http', options: { minWorkerVersion: '2' } }),
      [old],
    ],
    [
      'no-worker',
      'due, the listed worker being too old',
      aTask({ options: { workerIds: ['old'], minWorkerVersion: '2' } }),
      [old, recent],
    ],
    [undefined, 'past its deadline, which a claim would record', aTask({ deadlineAt: NOW }), [old]],
  ])('of a type that workers serve is %s: %s', (reason, _name, task, liveWorkers) => {
    const served = { ...FREE, hasHandler: true, liveWorkers }

    expect(statusReasonOf(task, NOW, served)).toBe(reason)
  })

  const slot = { wait: { kind: 'slot' as const, limit: 'resize' } }
  const permit = { wait: { kind: 'permit' as const, limit: 'resize' } }
  it.each<[StatusReason | undefined, string, Task, Partial<Served>]>([
    ['paused', 'due, its type paused', aTask(), { isPaused: true }],
    [
      'paused',
      'due, its type paused, with no worker that serves it',
      aTask(),
      { isPaused: true, hasHandler: false },
    ],
    ['due', 'not due, its type paused', aTask({ dueAt: NOW + 1 }), { isPaused: true }],
    [undefined, 'running, its type paused', aTask({ live: [aRun()] }), { isPaused: true }],
    ['rate-limit', 'due, and waits for a slot', aTask(slot), {}],
    ['rate-limit', 'due, and no start is left', aTask(), { limitedBy: 'rate-limit' }],
    ['concurrency-limit', 'due, and no permit is left', aTask(), { limitedBy: 'concurrency-limit' }],
    ['concurrency-limit', 'due, and waits for a permit', aTask(permit), {}],
  ])('of a type with a pause or limits is %s: %s', (reason, _name, task, parts) => {
    const served = { ...FREE, hasHandler: true, liveWorkers: [recent], ...parts }

    expect(statusReasonOf(task, NOW, served)).toBe(reason)
  })
})

const FREE = { isPaused: false }

const LONG_AGO = NOW - DAY
const QUIET = { createdAt: LONG_AGO, updatedAt: LONG_AGO, dueAt: LONG_AGO }
const NO_REASON: WaitFacts = { reason: undefined, isPaused: false, isBehindOthers: false, since: LONG_AGO }

describe('a task is quiet', () => {
  it.each<[string, TaskParts, boolean]>([
    ['that was due and touched long ago', QUIET, true],
    ['but not one that has changed since', { ...QUIET, updatedAt: NOW - 14 * MINUTE }, false],
    ['nor one that fell due lately', { ...QUIET, dueAt: NOW - 14 * MINUTE }, false],
    [
      'nor one whose run has sent a heartbeat lately',
      { ...QUIET, live: [aRun({ leaseUntil: NOW - 14 * MINUTE })] },
      false,
    ],
    [
      'whose run has sent no heartbeat lately',
      { ...QUIET, live: [aRun({ leaseUntil: NOW - 15 * MINUTE })] },
      true,
    ],
    ['nor one that has ended', { ...QUIET, state: 'failed' }, false],
    ['that has ended and owes callbacks', { ...QUIET, state: 'failed', owes: true }, true],
    [
      'that owes callbacks, even if its due time lies ahead',
      { ...QUIET, dueAt: NOW + DAY, state: 'failed', owes: true },
      true,
    ],
  ])('%s', (_name, parts, expected) => {
    expect(isQuiet(aTask(parts), NOW)).toBe(expected)
  })
})

describe('a quiet task is stuck', () => {
  it.each<[string, TaskParts, Partial<WaitFacts>, boolean]>([
    ['when it waits without a reason', QUIET, {}, true],
    ['but may wait for a handler', QUIET, { reason: 'no-handler' }, false],
    ['but may wait for a worker', QUIET, { reason: 'no-worker' }, false],
    ['but may wait while its type is paused', QUIET, { isPaused: true }, false],
    ['but may wait behind other tasks', QUIET, { isBehindOthers: true }, false],
    [
      'but not before all that a run needs has existed for 15 minutes',
      QUIET,
      { since: NOW - 14 * MINUTE },
      false,
    ],
    ['when its run is dead, with any reason to wait', { ...QUIET, live: [aRun()] }, { isPaused: true }, true],
    ['when it owes callbacks', { ...QUIET, state: 'failed', owes: true }, { reason: 'callbacks-owed' }, true],
  ])('%s', (_name, parts, wait, expected) => {
    expect(isStuck(aTask(parts), { ...NO_REASON, ...wait }, NOW)).toBe(expected)
  })
})
