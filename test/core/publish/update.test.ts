import { describe, expect, it } from 'vitest'
import { update } from '../../../shared/core/publish/update.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import {
  afterOf,
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  HOUR,
  LATER_BORN,
  MINUTE,
  NOW,
} from '../../support/tasks/a-task.ts'

describe('ifExists: update', () => {
  const publication = aPublication({
    born: LATER_BORN,
    shard: 3,
    dueAt: NOW + MINUTE,
    priority: 9,
    input: 'new',
    userId: 'other',
    traceparent: 'other',
    options: { timeoutMs: 5, deadlineMs: 1_000 },
  })

  it('replaces input, due time and options, but not the identity of the task', () => {
    const task = aTask({
      createdAt: 7,
      startedAt: 8,
      userId: 'u',
      traceparent: 't',
      input: { inline: 'old' },
      retrying: true,
      dueAt: NOW + HOUR,
      revision: 4,
      fence: 2,
      shard: 1,
      ended: [anEndedRun({ state: 'failed' })],
    })

    const { after, guard } = changeOf(update(task, publication, NOW))

    expect(after).toMatchObject({
      born: BORN,
      shard: 1,
      createdAt: 7,
      startedAt: 8,
      userId: 'u',
      traceparent: 't',
      operation: 'update',
      revision: 5,
      fence: 2,
      failures: 1,
      ended: task.ended,
      input: { inline: 'new' },
      dueAt: NOW + MINUTE,
      deadlineAt: NOW + MINUTE + 1_000,
      retrying: false,
      priority: 9,
      options: { timeoutMs: 5 },
    })
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 4, leases: [] })
  })

  it.each([
    ['running', aTask({ live: [aRun()] })],
    ['finished', aTask({ state: 'succeeded', finishedAt: NOW })],
    ['finished', aTask({ state: 'removed' })],
  ])('of a %s task is refused', (reason, task) => {
    expect(update(task, publication, NOW)).toEqual({ ok: false, reason })
  })

  it('to a concurrency that its successes have reached ends the task, which nothing would wake otherwise', () => {
    const task = aTask({ options: { concurrency: 2 }, ended: [anEndedRun()] })

    expect(afterOf(update(task, aPublication(), NOW))).toMatchObject({ state: 'succeeded', finishedAt: NOW })
  })

  it('to a budget that is already spent ends the task: no run beyond the budget', () => {
    const error = { name: 'Error', message: 'no' }
    const task = aTask({ error, ended: [1, 2].map(fence => anEndedRun({ fence, state: 'failed' })) })

    const after = afterOf(update(task, aPublication({ options: { retry: { maxRetries: 1 } } }), NOW))

    expect(after).toMatchObject({ state: 'failed', error })
    expect(claim(after, { workerId: 'w1' }, NOW)).toMatchObject({ ok: false })
  })
})
