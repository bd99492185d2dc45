import { describe, expect, it } from 'vitest'
import { create, isGone } from '../../../shared/core/publish/publish.ts'
import { aPublication, aTask, BORN, HOUR, LATER_BORN, MINUTE, NOW } from '../../support/tasks/a-task.ts'

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
