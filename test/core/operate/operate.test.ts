import { describe, expect, it } from 'vitest'
import { TOMBSTONE_MS } from '../../../shared/core/bounds.ts'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { create, isGone } from '../../../shared/core/publish/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { look } from '../../../shared/core/wake/look.ts'
import { plan } from '../../../shared/core/wake/plan.ts'
import {
  afterOf,
  anEndedRun,
  aPublication,
  aRun,
  aTask,
  BORN,
  changeOf,
  DAY,
  HOUR,
  LATER_BORN,
  NOW,
} from '../../support/tasks/a-task.ts'

describe('a cancel', () => {
  it('ends the task and its runs, and keeps the record', () => {
    const task = aTask({
      options: { concurrency: 3, retentionMs: DAY },
      live: [aRun({ fence: 2 }), aRun({ fence: 3, workerId: 'w2' })],
      ended: [anEndedRun({ fence: 1, workerId: 'w3' })],
    })

    const { after, guard } = changeOf(cancel(task, NOW + 5))

    expect(after).toMatchObject({ state: 'cancelled', operation: 'cancel', finishedAt: NOW + 5, live: {} })
    expect(after.expiresAt).toBe(NOW + 5 + DAY)
    expect(Object.values(after.ended).map(run => run.state)).toEqual(['succeeded', 'cancelled', 'cancelled'])
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 1, leases: [] })
  })

  it('of a task that waits for its retry leaves nothing to retry', () => {
    expect(afterOf(cancel(aTask({ retrying: true, dueAt: NOW + HOUR }), NOW)).retrying).toBe(false)
  })

  it('of a task due in the far future leaves its minute', () => {
    expect(afterOf(cancel(aTask({ dueAt: NOW + HOUR }), NOW))).not.toHaveProperty('place')
  })

  it.each([
    ['cancelled', 'already-cancelled'],
    ['succeeded', 'finished'],
    ['failed', 'finished'],
    ['removed', 'finished'],
  ] as const)('of a %s task changes nothing: %s', (state, reason) => {
    expect(cancel(aTask({ state, finishedAt: NOW }), NOW)).toEqual({ ok: false, reason })
  })
})

describe('a removed task', () => {
  const task = aTask({
    fence: 3,
    revision: 6,
    userId: 'u',
    input: { inline: 1 },
    kind: 'http',
    live: [aRun({ fence: 3 })],
  })
  const { after: tombstone, guard } = remove(task, NOW)

  it('leaves a tombstone that outlives every message and remembers birth, revision and fence', () => {
    expect(tombstone).toMatchObject({
      state: 'removed',
      born: BORN,
      revision: 7,
      fence: 3,
      live: {},
      ended: {},
      expiresAt: NOW + TOMBSTONE_MS,
    })
    expect(guard).toEqual({ kind: 'revision', born: BORN, revision: 6, leases: [] })
    expect(isGone(tombstone, NOW)).toBe(true)
  })

  it('is in no index and keeps no body', () => {
    for (const name of ['view', 'place', 'userId', 'input']) expect(tombstone).not.toHaveProperty(name)
  })

  it('never fires, even if already dispatched', () => {
    expect(claim(tombstone, { workerId: 'w1' }, NOW)).toMatchObject({ ok: false, reason: 'finished' })
    expect(look(tombstone, NOW, 0)).toMatchObject({ ok: false })
    expect(plan(tombstone, NOW)).toEqual({})
  })

  it('published again is a new birth whose revision and fence count on', () => {
    const { after, guard } = create(aPublication({ born: LATER_BORN }), tombstone, NOW)

    expect(after).toMatchObject({ born: LATER_BORN, state: 'open', revision: 8, fence: 3 })
    expect(after).not.toHaveProperty('expiresAt')
    expect(guard).toMatchObject({ born: BORN, revision: 7 })
    expect(claim(after, { workerId: 'w1' }, NOW)).toMatchObject({ ok: true, run: { fence: 4 } })
  })
})
