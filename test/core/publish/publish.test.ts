import { describe, expect, it } from 'vitest'
import { create, isGone, update } from '../../../shared/core/publish.ts'
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

describe('a published task', () => {
  it('has exactly the fields of its publication, and nothing undefined', () => {
    const { before, after, guard, bodies } = create(aPublication({ input: { a: 1 } }), undefined, NOW)

    expect(after).toStrictEqual({
      id: 'resize:k1',
      ...aPublication(),
      input: { inline: { a: 1 } },
      revision: 1,
      operation: 'publish',
      state: 'open',
      retrying: false,
      fence: 0,
      live: {},
      ended: {},
      failures: 0,
      failuresBy: {},
      retryAtBy: {},
      createdAt: NOW,
      updatedAt: NOW,
      view: { bucket: 'open', sort: NOW },
    })
    expect([before, guard, bodies]).toEqual([undefined, { kind: 'absent' }, []])
  })

  it('has its deadline from its due time', () => {
    const { after } = create(
      aPublication({ dueAt: NOW + HOUR, options: { deadlineMs: 60_000 } }),
      undefined,
      NOW,
    )

    expect(after.deadlineAt).toBe(NOW + HOUR + MINUTE)
  })

  it('keeps a large input apart, until long after its end', () => {
    const { after, bodies } = create(aPublication({ input: 'x'.repeat(500) }), undefined, NOW)

    expect(bodies).toHaveLength(1)
    expect(after.input).toEqual({ ref: bodies[0]?.ref, bytes: 502, expiresAt: bodies[0]?.expiresAt })
    expect(bodies[0]?.expiresAt).toBeGreaterThan(NOW + after.options.retentionMs)
  })

  it('can have the input null', () => {
    expect(create(aPublication({ input: null }), undefined, NOW).after.input).toEqual({ inline: null })
  })
})

it.each([
  [
    'removed before its end',
    aTask({ state: 'removed', member: { canvasId: 'c', born: BORN, leaf: 1 } }),
    'failed',
  ],
  [
    'removed after its success',
    aTask({ state: 'removed', member: { canvasId: 'c', born: BORN, leaf: 1, first: 'succeeded' } }),
    'succeeded',
  ],
])('a publish over the remains of a member that was %s keeps its first end', (_name, remains, first) => {
  const { after } = create(aPublication({ born: LATER_BORN }), remains, NOW)

  expect(after).toMatchObject({ state: 'open', born: LATER_BORN, member: { canvasId: 'c', leaf: 1, first } })
})

it.each([
  ['nothing', undefined, true],
  ['a tombstone', aTask({ state: 'removed' }), true],
  ['an ended task past its retention', aTask({ state: 'failed', finishedAt: NOW, expiresAt: NOW }), true],
  [
    'an ended task within its retention',
    aTask({ state: 'failed', finishedAt: NOW, expiresAt: NOW + 1 }),
    false,
  ],
  [
    'an ended task past its retention that owes callbacks',
    aTask({ state: 'failed', finishedAt: NOW, expiresAt: NOW, owes: true }),
    false,
  ],
  ['an open task', aTask(), false],
])('%s counts as gone: %s', (_name, task, gone) => {
  expect(isGone(task, NOW)).toBe(gone)
})

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
