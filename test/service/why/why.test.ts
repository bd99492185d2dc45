import { describe, expect, it } from 'vitest'
import { pathOf } from '../../../shared/api/endpoints.ts'
import { STATUS_REASONS, WHY_REASONS } from '../../../shared/core/states.ts'
import type { Served, TaskReason } from '../../../shared/core/status.ts'
import { readyReason, statusReasonOf, whyReasonOf } from '../../../shared/core/status.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { explainMember } from '../../../shared/service/operations/diagnosis.ts'
import { explain } from '../../../shared/service/why/explain.ts'
import { REASON_TEXTS } from '../../../shared/service/why/reasons.ts'
import { spanText, timeText } from '../../../shared/service/why/words.ts'
import { anEndedRun, aRun, aTask, DAY, HOUR, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'

const FREE: Served = {
  hasHandler: true,
  liveWorkers: [{ workerId: 'w' }],
  isPaused: false,
}
const NONE = { messages: 0, before: 0, isTypeAtWork: false, since: 0 }

describe('the reason', () => {
  it.each<[TaskReason | undefined, string, Task, Partial<Served>]>([
    ['due', 'not due', aTask({ dueAt: NOW + 1 }), {}],
    ['retry', 'waiting for a retry', aTask({ dueAt: NOW + 1, retrying: true }), {}],
    [
      'crashing',
      'waiting for a retry after a lost run',
      aTask({ dueAt: NOW + 1, retrying: true, ended: [anEndedRun({ state: 'lost' })] }),
      {},
    ],
    ['paused', 'of a paused type', aTask(), { isPaused: true }],
    ['no-handler', 'without a handler', aTask(), { hasHandler: false }],
    ['no-worker', 'without a worker', aTask({ kind: 'http' }), { liveWorkers: [] }],
    ['worker-version', 'of a newer version', aTask({ options: { minWorkerVersion: '2' } }), {}],
    [
      'workers-spent',
      'whose only worker has done its part',
      aTask({ kind: 'http', options: { concurrency: 2 }, ended: [anEndedRun({ workerId: 'w' })] }),
      {},
    ],
    ['target-offline', 'for a worker that is not there', aTask({ options: { workerIds: ['x'] } }), {}],
    [
      'worker-version',
      'for a listed worker of an older version',
      aTask({ options: { workerIds: ['w'], minWorkerVersion: '2' } }),
      {},
    ],
    ['target-worker', 'for a live worker', aTask({ options: { workerIds: ['w'] } }), {}],
    ['running', 'running', aTask({ live: [aRun()] }), {}],
    [
      'stuck',
      'whose dead run nothing recorded for an hour',
      aTask({ updatedAt: NOW - HOUR, dueAt: NOW - HOUR, live: [aRun({ leaseUntil: NOW - HOUR })] }),
      {},
    ],
    ['succeeded', 'ended', aTask({ state: 'succeeded', finishedAt: NOW }), {}],
    [
      'callbacks-owed',
      'ended, with callbacks',
      aTask({ state: 'succeeded', finishedAt: NOW, owes: true }),
      {},
    ],
    [undefined, 'ready', aTask(), {}],
  ])('is %s for a task %s', (reason, _name, task, parts) => {
    expect(whyReasonOf(task, NOW, { ...FREE, ...parts }, true)).toBe(reason)
  })

  it('keeps or refines the statusReason, and never contradicts it', () => {
    const refinedFrom: Partial<Record<TaskReason, string>> = {
      crashing: 'retry',
      'target-offline': 'no-worker',
      'worker-version': 'no-worker',
      'workers-spent': 'no-worker',
      'step-paused': 'paused',
    }
    for (const task of [aTask({ dueAt: NOW + 1 }), aTask({ kind: 'http' }), aTask()])
      for (const liveWorkers of [[], [{ workerId: 'w' }]]) {
        const served = { ...FREE, liveWorkers }
        const reason = whyReasonOf(task, NOW, served, true)
        const shown = statusReasonOf(task, NOW, served)
        expect(shown).toBe(reason && (refinedFrom[reason] ?? reason))
      }
    expect(WHY_REASONS).toEqual(expect.arrayContaining([...STATUS_REASONS]))
  })

  const lost = { ended: [anEndedRun({ state: 'lost' })] }
  const crashed = aTask(lost)
  const anHourAgo = { updatedAt: NOW - HOUR, dueAt: NOW - HOUR }
  const quiet = aTask(anHourAgo)
  const quietCrashed = aTask({ ...anHourAgo, ...lost })
  it.each<[TaskReason, string, Task, Partial<typeof NONE>]>([
    ['dispatched', 'with nothing before it', aTask(), {}],
    ['dispatched', 'with one message, which may be its own', aTask(), { messages: 1 }],
    ['backlog', 'behind messages', aTask(), { messages: 2 }],
    ['backlog', 'behind tasks', aTask(), { before: 1 }],
    ['crashing', 'after a lost run, behind messages', crashed, { messages: 9 }],
    ['crashing', 'after a lost run, with nothing before it', crashed, {}],
    ['stuck', 'quiet for an hour', quiet, {}],
    ['stuck', 'quiet for an hour after a lost run', quietCrashed, {}],
    ['backlog', 'quiet for an hour after a lost run, behind others', quietCrashed, { messages: 5 }],
    ['crashing', 'quiet after a lost run, of a type that was changed', quietCrashed, { since: NOW - MINUTE }],
    ['backlog', 'quiet for an hour behind others', quiet, { messages: 5 }],
    ['dispatched', 'quiet, of a type that was changed a minute ago', quiet, { since: NOW - MINUTE }],
    ['dispatched', 'quiet, while its workers over HTTP run other tasks', quiet, { isTypeAtWork: true }],
  ])('of a ready task is %s: %s', (reason, _name, task, facts) => {
    expect(readyReason(task, NOW, { ...NONE, ...facts })).toBe(reason)
  })
})

describe('the sentence', () => {
  const said = (reason: TaskReason, task: Task, more: object = {}) =>
    explain(reason, {
      ...{ task, now: NOW },
      ...{ types: new Map(), liveWorkers: [], ...more },
    })

  it('is one sentence, with a next step, for every reason and any task', () => {
    const reasons = WHY_REASONS.filter((one): one is TaskReason => one !== 'canvas' && one !== 'skipped')
    const options = { minWorkerVersion: '2' }
    for (const reason of reasons)
      for (const task of [
        aTask({ options }),
        aTask({ options, kind: 'http', ended: [anEndedRun({ state: 'lost' })] }),
      ]) {
        const { sentence, next } = said(reason, task)
        expect(sentence, reason).toMatch(/^(\S+ of )?resize:k1 .*\.$/)
        expect(sentence, reason).not.toMatch(/undefined|NaN|\[object|\n/)
        expect(next, reason).toMatch(/^[A-Z].*\.( [A-Z].*\.)*$/)
        expect([...REASON_TEXTS[reason].facts, 'sentence', 'next'], reason).toEqual(
          expect.arrayContaining(Object.keys(said(reason, task))),
        )
      }
  })

  it('of a stuck task says since when a worker could take it', () => {
    expect(said('stuck', aTask({ updatedAt: NOW - HOUR, dueAt: NOW - HOUR })).sentence).toBe(
      'resize:k1 is stuck: a worker of resize could take it since 2026-01-01 11:00:00 UTC (60 min ago), and none has.',
    )
  })

  it.each<TaskReason>(['stuck', 'backlog'])('of a task that is %s mentions its lost run', reason => {
    const task = aTask({ ended: [anEndedRun({ state: 'lost', workerId: 'w7', endedAt: NOW - HOUR })] })

    expect(said(reason, task, { messages: 5 }).sentence).toContain('; its last run, of w7, was lost at ')
    expect(said(reason, aTask(), { messages: 5 }).sentence).not.toContain('lost')
  })

  it('of a crashing task mentions what is ahead of it', () => {
    const task = aTask({ ended: [anEndedRun({ state: 'lost' })] })

    expect(said('crashing', task, { messages: 5 }).sentence).toMatch(
      /; before it, about 5 messages wait in the queue of resize\.$/,
    )
    expect(said('crashing', task, { messages: 1 }).sentence).not.toContain('before it')
  })

  it('names ids in paths in the form that a path takes', () => {
    const id = 'resize:a/b?c'
    const task = aTask({ key: 'a/b?c' })
    const permits = { holders: [{ taskId: id, since: NOW - SECOND }] }

    expect(said('due', task).next).toContain(`PATCH ${pathOf('get', id)} with`)
    expect(said('concurrency-limit', task, { permits }).next).toContain(`POST ${pathOf('get', id)}/cancel`)
    expect(said('concurrency-limit', task, { permits }).next).not.toContain('a/b')
    const canvasId = 'canvas:a/b'
    const about = { id: 'a:1', canvasId, members: 3, state: 'pending' as const }
    expect(explainMember(about).next).toContain(`GET ${pathOf('getCanvas', canvasId)} shows`)
    expect(explainMember(about).sentence).toContain(canvasId)
  })

  it('of a member of a canvas says what it waits for', () => {
    const about = { id: 'a:1', canvasId: 'canvas:c', members: 3, ended: 1 }
    const states = ['pending', 'about-to-start', 'skipped', 'cancelled'] as const
    expect(states.map(state => explainMember({ ...about, state }).reason)).toEqual([
      ...['canvas', 'canvas'],
      ...['skipped', 'skipped'],
    ])
    expect(explainMember({ ...about, state: 'pending' }).sentence).toContain('1 of 3 members have ended')
  })
})

it('times are in UTC, and say how far they are from now', () => {
  expect(timeText(NOW + 5 * MINUTE, NOW)).toBe('2026-01-01 12:05:00 UTC (in 5 min)')
  expect(timeText(NOW, NOW)).toBe('2026-01-01 12:00:00 UTC (now)')
  expect(timeText(Number.NaN, NOW)).toBe('an unknown time')
  expect([5, 90 * SECOND, 3 * MINUTE, 20 * HOUR, 3 * DAY].map(spanText)).toEqual([
    ...['5 ms', '90 s', '3 min'],
    ...['20 h', '3 days'],
  ])
})
