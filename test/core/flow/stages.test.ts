import { describe, expect, it } from 'vitest'
import { restart } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { create, update } from '../../../shared/core/publish.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import type { NextStage, Outcome } from '../../../shared/core/run/run.ts'
import { attempts, idempotencyKey, lastSuccess, resultOf } from '../../../shared/core/task/piece.ts'
import { successes, type Task } from '../../../shared/core/task/task.ts'
import { plan } from '../../../shared/core/wake.ts'
import {
  afterOf,
  aPublication,
  BORN,
  changeOf,
  DAY,
  HOUR,
  LATER_BORN,
  MINUTE,
  NOW,
  SECOND,
} from '../../support/tasks/a-task.ts'
import { claimedBy, DONE, ended, failingFor } from '../../support/tasks/flow-life.ts'

type Parts = Parameters<typeof aPublication>[0]

const staged = (parts: Parts = {}): Task =>
  create(aPublication({ stage: 'fetch', input: 'url', ...parts }), undefined, NOW).after
const moved = (task: Task, next: Partial<NextStage> = {}, now = NOW): Task =>
  ended(claimedBy(task, 'w1', now), { ...DONE, result: 'bytes', next: { stage: 'store', ...next } }, now)

describe('a run that moves its task on', () => {
  it('opens the next stage, due at once, and is dispatched anew', () => {
    const task = moved(staged({ dueAt: NOW - HOUR, priority: 3 }))

    expect(task).toMatchObject({
      state: 'open',
      operation: 'succeed',
      stage: 'store',
      dueAt: NOW,
      priority: 3,
    })
    expect(task.input).toEqual({ inline: 'url' })
    expect(plan(task, NOW).dispatchAt).toBe(NOW)
    expect(task.finishedAt).toBeUndefined()
  })

  it('replaces input, priority and due time when it names them', () => {
    const task = moved(staged(), { input: { from: 'fetch' }, priority: 9, delayMs: MINUTE })

    expect(task).toMatchObject({ input: { inline: { from: 'fetch' } }, priority: 9, dueAt: NOW + MINUTE })
  })

  it('keeps a large input apart, under a name of its own', () => {
    const first = claimedBy(staged({ input: 'x'.repeat(300) }))
    const word = { born: BORN, fence: 1, ...DONE, next: { stage: 'store', input: 'y'.repeat(300) } }

    const { after, bodies } = changeOf(finish(first, word, NOW, 0))

    expect(bodies).toMatchObject([{ value: 'y'.repeat(300) }])
    expect(after.input).toMatchObject({ ref: bodies[0]?.ref })
    expect(after.input).not.toEqual(first.input)
  })

  it('gives the next stage attempts of its own, and its success does not count there', () => {
    const once = ended(claimedBy(staged()), failingFor('no', false))
    const task = moved(once, {}, NOW + SECOND)

    expect(task).toMatchObject({ failures: 0, retrying: false })
    expect(task.error).toBeUndefined()
    expect(attempts(task)).toEqual({ used: 0, left: 4 })
    expect(successes(task)).toEqual([])
    expect(lastSuccess(task)).toBeUndefined()
    expect(task.ended[2]).toMatchObject({ state: 'succeeded', piece: 'fetch', past: true })
    expect(claim(task, { workerId: 'w1' }, NOW + SECOND).ok).toBe(true)
  })

  it('has another key for each stage', () => {
    const task = moved(staged())

    expect(idempotencyKey(staged())).toBe(`resize:k1/${BORN}/fetch`)
    expect(idempotencyKey(task)).toBe(`resize:k1/${BORN}/store`)
  })

  it('may repeat its report when the answer was lost, while a run that lost its lease in that stage is refused', () => {
    const task = claimedBy(moved(staged()), 'w2')
    const again = { born: BORN, fence: 1, ...DONE, result: 'bytes', next: { stage: 'store' } }

    expect(finish(task, again, NOW, 0)).toEqual({ ok: true })
    expect(finish(task, { ...again, ...failingFor('no') }, NOW, 0).ok).toBe(false)
  })

  it('gives the task the result of the last stage', () => {
    const task = ended(claimedBy(moved(staged())), { ...DONE, result: 'stored' })

    expect(task).toMatchObject({ state: 'succeeded', stage: 'store' })
    expect(resultOf(task)).toEqual({ inline: 'stored' })
  })

  it('does not change the deadline of the task', () => {
    const task = moved(staged({ options: { deadlineMs: MINUTE } }), { delayMs: HOUR })

    expect(task.deadlineAt).toBe(NOW + MINUTE)
  })

  it('fails for good by the budget of its own stage', () => {
    const options = { retry: { maxRetries: 1, delayMs: 0 } }
    const first = ended(claimedBy(staged({ options })), failingFor('no', false))
    const second = ended(claimedBy(moved(first)), failingFor('no', false))

    expect(second.state).toBe('open')
    expect(ended(claimedBy(second), failingFor('no', false))).toMatchObject({
      state: 'failed',
      stage: 'store',
    })
  })
})

describe('a stage of several workers', () => {
  const two = staged({ options: { concurrency: 2 } })
  const success = (task: Task, fence: number, next?: NextStage): Task =>
    afterOf(finish(task, { born: BORN, fence, ...DONE, ...(next && { next }) }, NOW, 0))

  it.each([
    ['moves on when the last success names a stage', { stage: 'left' }, { stage: 'store' }, 'open', 'store'],
    ['ends when the last success names none', { stage: 'left' }, undefined, 'succeeded', 'fetch'],
    ['moves on when only the last success names a stage', undefined, { stage: 'store' }, 'open', 'store'],
  ])('%s', (_name, first, last, state, stage) => {
    const both = claimedBy(claimedBy(two, 'w1'), 'w2')

    const after = success(success(both, 1, first), 2, last)

    expect(after).toMatchObject({ state, stage })
  })

  it('needs as many successes again in the next one, also of the same workers', () => {
    const both = claimedBy(claimedBy(two, 'w1'), 'w2')
    const next = success(success(both, 1), 2, { stage: 'store' })

    expect(attempts(next).used).toBe(0)
    expect(success(claimedBy(next, 'w1'), 3)).toMatchObject({ state: 'open', stage: 'store' })
  })
})

describe('a patch to another stage', () => {
  const patched = (task: Task, changes: Parameters<typeof patch>[1]) => changeOf(patch(task, changes, NOW))

  it('stops the runs of the former one, without a retry', () => {
    const { after, bodies } = patched(claimedBy(staged()), { stage: 'store' })

    expect(after).toMatchObject({ stage: 'store', live: {}, failures: 0 })
    expect(after.ended[1]).toMatchObject({ state: 'cancelled', piece: 'fetch' })
    expect(bodies).toMatchObject([{ run: { state: 'cancelled' } }])
    expect(finish(after, { born: BORN, fence: 1, ...DONE }, NOW, 0)).toMatchObject({ reason: 'cancelled' })
  })

  it('does not wait for a retry of the former one, but for a given due time', () => {
    const retrying = ended(claimedBy(staged()), failingFor('no', false))
    const delayed = staged({ dueAt: NOW + HOUR })

    expect(patched(retrying, { stage: 'store' }).after).toMatchObject({
      dueAt: NOW,
      retrying: false,
      failures: 0,
    })
    expect(patched(delayed, { stage: 'store' }).after.dueAt).toBe(NOW + HOUR)
    expect(patched(retrying, { stage: 'store', dueAt: NOW + MINUTE }).after.dueAt).toBe(NOW + MINUTE)
  })

  it('to the present stage stops no run', () => {
    const { after } = patched(claimedBy(staged()), { stage: 'fetch', input: 'other' })

    expect(Object.keys(after.live)).toEqual(['1'])
    expect(after.input).toEqual({ inline: 'other' })
  })

  it('no longer counts successes of the former one', () => {
    const one = ended(claimedBy(staged({ options: { concurrency: 2 } })), DONE)

    expect(attempts(patched(one, { stage: 'store' }).after).used).toBe(0)
    expect(patched(one, { stage: 'store', options: { concurrency: 1 } }).after.state).toBe('open')
  })
})

describe('publishing a staged task again', () => {
  const restarting = (task: Task, keepInput: boolean, stage?: string) =>
    afterOf(
      restart(
        task,
        {
          publication: aPublication({ born: LATER_BORN, input: 'new', ...(stage && { stage }) }),
          clean: ['failed', 'succeeded'],
          keepInput,
        },
        NOW,
      ),
    )
  const over = ended(claimedBy(moved(staged())), failingFor('no'))

  it('starts over in its present stage, unless the new body names one', () => {
    expect(restarting(over, true)).toMatchObject({ stage: 'store', input: { inline: 'url' } })
    expect(restarting(over, false, 'fetch')).toMatchObject({ stage: 'fetch', input: { inline: 'new' } })
    expect(restarting(over, false).stage).toBeUndefined()
  })

  it('updates the task in its present stage, or in another stage afresh', () => {
    const failing = ended(claimedBy(staged()), failingFor('no', false))

    const same = afterOf(update(failing, aPublication({ input: 'new' }), NOW))
    const other = afterOf(update(failing, aPublication({ input: 'new', stage: 'store' }), NOW))

    expect(same).toMatchObject({ stage: 'fetch', failures: 1, input: { inline: 'new' } })
    expect(other).toMatchObject({ stage: 'store', failures: 0, dueAt: NOW })
  })

  it('drops successes of stages that are over together with the failures', () => {
    const task = ended(claimedBy(moved(staged())), DONE)
    const again = restart(
      task,
      {
        publication: aPublication({ born: LATER_BORN, options: { concurrency: 2 } }),
        clean: ['failed'],
        keepInput: true,
      },
      NOW,
    )

    expect(Object.keys(afterOf(again).ended)).toEqual(['2'])
  })
})

describe('a handler that always moves on', () => {
  const movedOn = (task: Task, now: number) =>
    ended(claimedBy(task, 'w1', now), { ...DONE, next: { stage: 'again' } }, now)

  it('fails for good after 10,000 moves and one a second, with an error that says so', () => {
    let task = staged()
    let moves = 0
    for (let now = NOW; task.state === 'open' && moves < 20_000; now += 50, moves++) task = movedOn(task, now)

    expect(task).toMatchObject({ state: 'failed', error: { name: 'StageLoop' }, ended: {} })
    expect(task.error?.message).toMatch(/10,5\d\d times/)
    // At 50 ms a move some 526 seconds go by. Each second allows one more move.
    expect(moves).toBeGreaterThan(10_500)
    expect(moves).toBeLessThan(10_550)
  })

  it('and waits a second or more before each move continues for years', () => {
    const old: Task = {
      ...staged(),
      startedAt: NOW - 1_000 * DAY,
      stageChanges: (1_000 * DAY) / SECOND + 9_999,
    }

    expect(movedOn(old, NOW)).toMatchObject({ state: 'open', stage: 'again' })
    expect(movedOn(movedOn(old, NOW), NOW)).toMatchObject({ state: 'failed' })
    expect(movedOn(movedOn(old, NOW), NOW + 2 * SECOND)).toMatchObject({ state: 'open' })
  })

  it('gets the first answer again when it repeats the same last move, and only then', () => {
    const said = { ...DONE, next: { stage: 'again' } }
    const looped = movedOn({ ...staged(), startedAt: NOW, stageChanges: 10_000 }, NOW)
    const again = (word: Outcome) => finish(looped, { born: BORN, fence: 1, ...word }, NOW, 0)

    expect(looped).toMatchObject({ state: 'failed', error: { name: 'StageLoop' } })
    expect(again(said)).toEqual({ ok: true })
    expect(again({ ...said, next: { stage: 'other' } })).toMatchObject({ ok: false })
    expect(again({ ...said, result: 'other' })).toMatchObject({ ok: false })
    expect(again(DONE)).toMatchObject({ ok: false })
  })

  it('counts afresh once it is restarted', () => {
    const looped = movedOn({ ...staged(), startedAt: NOW, stageChanges: 10_000 }, NOW)
    const again = afterOf(
      restart(
        looped,
        { publication: aPublication({ born: LATER_BORN }), clean: ['failed', 'succeeded'], keepInput: true },
        NOW,
      ),
    )

    expect(looped.state).toBe('failed')
    expect(again).toMatchObject({ state: 'open' })
    expect(again.stageChanges).toBeUndefined()
  })
})
