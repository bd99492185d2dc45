import { describe, expect, it } from 'vitest'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { heartbeat, lose } from '../../../shared/core/run/lease.ts'
import { statusOf } from '../../../shared/core/status.ts'
import { attempts, idempotencyKey, pieceOf, resultOf, workOf } from '../../../shared/core/task/piece.ts'
import { needsAttention, type Task } from '../../../shared/core/task/task.ts'
import { plan } from '../../../shared/core/wake.ts'
import { aFlow, afterOf, BORN, NOW, SECOND } from '../../support/tasks/a-task.ts'
import {
  aFlowTask,
  claimedBy,
  DONE,
  done,
  doneTimes,
  ended,
  failedFor,
  failingFor,
  statesOf,
  undoneInTurn,
} from '../../support/tasks/flow-life.ts'

const LATER = NOW + 20 * SECOND
const named = (name: string, message: string) => ({ name, message })

describe('a flow whose steps all succeed', () => {
  it('does them in order, and has the result of the last one', () => {
    let task = aFlowTask()
    const pieces: Array<string | undefined> = []
    for (const result of ['one', 'two', 'three']) {
      pieces.push(pieceOf(task))
      task = done(task, result)
    }

    expect(pieces).toEqual(['a', 'b', 'c'])
    expect(statesOf(task)).toEqual(['succeeded', 'succeeded', 'succeeded'])
    expect(task).toMatchObject({ state: 'succeeded', finishedAt: NOW, flow: { reachedStep: 2 } })
    expect(resultOf(task)).toEqual({ inline: 'three' })
  })

  it('keeps each result with its step, and has no result before its end', () => {
    const task = done(done(aFlowTask(), { id: 7 }))

    expect(task.flow?.steps[0]?.result).toEqual({ inline: { id: 7 } })
    expect(task.flow?.steps[1]?.result).toBeUndefined()
    expect(task.ended).toEqual({})
    expect(resultOf(task)).toBeUndefined()
  })

  it('works on each step as a task of the step’s type, in that type’s order, with that step’s options', () => {
    const first = aFlowTask(aFlow())
    const second = done(first)

    expect(workOf(first)).toMatchObject({ type: 'reserve', kind: 'handler', ordering: 'arrival' })
    expect(workOf(second)).toMatchObject({ type: 'charge', kind: 'http', ordering: 'priority' })
    expect(first).toMatchObject({ type: 'order', options: { retry: { maxRetries: 1 } } })
    expect(doneTimes(first, 2).options.retry.maxRetries).toBe(0)
    expect(plan(first, NOW)).toMatchObject({ dispatchAt: NOW })
    expect(second.place?.name).toMatch(/^ready#charge#[01]$/)
  })

  it('gives each piece of work a key of its own, the same for its retries', () => {
    const first = aFlowTask()
    const retried = ended(claimedBy(first), failingFor('no', false))
    const second = done(first)
    const undone = failedFor(second, 'no')

    expect(idempotencyKey(first)).toBe(`order:k1/${BORN}/a`)
    expect(idempotencyKey(retried)).toBe(idempotencyKey(first))
    expect(idempotencyKey(second)).toBe(`order:k1/${BORN}/b`)
    expect(idempotencyKey(undone)).toBe(`order:k1/${BORN}/undo b`)
  })
})

describe('a step that fails for good', () => {
  it.each([
    [0, ['undo a'], ['undone', 'pending', 'pending']],
    [1, ['undo b', 'undo a'], ['undone', 'undone', 'pending']],
    [2, ['undo c', 'undo b', 'undo a'], ['undone', 'undone', 'undone']],
  ])('at %i is undone first, then the steps before it: %j', (at, undos, states) => {
    const failed = failedFor(doneTimes(aFlowTask(), at), 'out of stock')

    const { pieces, task } = undoneInTurn(failed, LATER)

    expect(statusOf(failed, NOW)).toBe('compensating')
    expect(failed).toMatchObject({ view: { bucket: 'compensating' }, error: named('Error', 'out of stock') })
    expect(pieces).toEqual(undos)
    expect(statesOf(task)).toEqual(states)
    expect(task).toMatchObject({
      state: 'failed',
      finishedAt: LATER,
      error: named('Error', 'out of stock'),
      flow: {
        reachedStep: at,
        steps: { [at]: { do: { error: named('Error', 'out of stock'), attempts: 1 } } },
      },
    })
    expect(needsAttention(task)).toBe(false)
  })

  it('skips steps without an undo', () => {
    const flow = aFlow({ steps: [{ name: 'a', undo: {} }, { name: 'b' }, { name: 'c' }] })

    const { pieces, task } = undoneInTurn(failedFor(doneTimes(aFlowTask(flow), 2), 'no'))

    expect(pieces).toEqual(['undo a'])
    expect(statesOf(task)).toEqual(['undone', 'succeeded', 'failed'])
  })

  it('ends the flow at once when nothing can be undone', () => {
    const flow = aFlow({ steps: [{ name: 'a' }, { name: 'b' }] })

    const task = failedFor(done(aFlowTask(flow)), 'no')

    expect(task).toMatchObject({ state: 'failed', view: { bucket: 'failed' }, error: { message: 'no' } })
    expect(statesOf(task)).toEqual(['succeeded', 'failed'])
  })

  it('has used up its retries, and each step has retries of its own', () => {
    const again = ended(claimedBy(aFlowTask()), failingFor('once', false))
    const second = done(again, undefined, NOW + SECOND)
    const secondAgain = ended(claimedBy(second, 'w1', LATER), failingFor('once', false), LATER)
    const failed = ended(
      claimedBy(secondAgain, 'w2', LATER + SECOND),
      failingFor('twice', false),
      LATER + SECOND,
    )

    expect(again).toMatchObject({ retrying: true, dueAt: NOW + SECOND, failures: 1 })
    expect(second).toMatchObject({ failures: 0, failuresBy: {}, retrying: false })
    expect(second.error).toBeUndefined()
    expect(attempts(second)).toEqual({ used: 0, left: 2 })
    expect(second.flow?.steps[0]?.do.attempts).toBe(2)
    expect(pieceOf(failed)).toBe('undo b')
    expect(failed.flow?.steps[1]?.do).toMatchObject({ attempts: 2, error: { message: 'twice' } })
    expect(attempts(failed)).toEqual({ used: 0, left: 2 })
  })

  it.each([
    [0, ['undo a']],
    [1, ['undo b', 'undo a']],
    [2, ['undo c', 'undo b', 'undo a']],
  ])('at %i may be lost instead, and each loss costs a retry', (at, undos) => {
    const lost = (task: Task, now: number) => afterOf(lose(claimedBy(task, 'w1', now), now + 16 * SECOND))
    const once = lost(doneTimes(aFlowTask(), at), NOW)

    const twice = lost(once, LATER)

    expect(statusOf(once, LATER)).toBe('ready')
    expect(twice.flow?.steps[at]).toMatchObject({
      state: 'failed',
      do: { attempts: 2, error: { name: 'LeaseLost' } },
    })
    expect(undoneInTurn(twice, LATER + 20 * SECOND).pieces).toEqual(undos)
  })

  it('that a claim finds lost is undone, not claimed', () => {
    const once = ended(claimedBy(aFlowTask()), failingFor('once', false))
    const held = claimedBy(once, 'w1', NOW + SECOND)

    const taken = claim(held, { workerId: 'w2' }, LATER)

    expect(taken).toMatchObject({ ok: false, reason: 'budget-spent' })
    expect(taken.change?.after).toMatchObject({ live: {}, flow: { direction: 'undo', presentStep: 0 } })
  })
})

describe('an undo that fails for good', () => {
  it.each([
    [2, ['succeeded', 'succeeded', 'undo-failed']],
    [1, ['succeeded', 'undo-failed', 'undone']],
    [0, ['undo-failed', 'undone', 'undone']],
  ])('at %i stops the undoing, and the flow needs attention', (at, states) => {
    const undoing = doneTimes(failedFor(doneTimes(aFlowTask(), 2), 'no courier'), 2 - at)

    const task = failedFor(undoing, 'bank closed')

    expect(pieceOf(undoing)).toBe(`undo ${'abc'[at]}`)
    expect(statesOf(task)).toEqual(states)
    expect(task).toMatchObject({
      state: 'failed',
      error: { message: 'no courier' },
      flow: { reachedStep: 2 },
    })
    expect(task.flow?.steps[at]?.undo).toMatchObject({ attempts: 1, error: { message: 'bank closed' } })
    expect(needsAttention(task)).toBe(true)
  })

  it('has retries of its own, and its runs may be lost', () => {
    const undoing = failedFor(aFlowTask(), 'no')
    const again = ended(claimedBy(undoing), failingFor('once', false))
    const lost = afterOf(lose(claimedBy(again, 'w1', NOW + SECOND), LATER))

    expect(again).toMatchObject({
      state: 'open',
      retrying: true,
      dueAt: NOW + SECOND,
      flow: { direction: 'undo' },
    })
    expect(statusOf(again, NOW)).toBe('compensating')
    expect(lost).toMatchObject({ state: 'failed', error: { message: 'no' } })
    expect(lost.flow?.steps[0]).toMatchObject({ state: 'undo-failed', undo: { attempts: 2 } })
  })
})

describe('a run of a piece that is over', () => {
  const zombie = { born: BORN, fence: 1 }

  it('gets every report refused, even if the same worker holds the next run', () => {
    const once = afterOf(lose(claimedBy(aFlowTask()), LATER))
    const second = done(once, undefined, LATER)
    const next = claimedBy(second, 'w1', LATER)

    for (const outcome of [DONE, failingFor('late'), { outcome: 'release' } as const]) {
      expect(finish(next, { ...zombie, ...outcome }, LATER, 0)).toMatchObject({ ok: false, reason: 'lost' })
    }
    expect(heartbeat(next, zombie, LATER)).toMatchObject({ ok: false, reason: 'lost' })
  })

  it('may repeat the success that ended the piece, in either direction, and changes nothing', () => {
    const undoing = failedFor(done(aFlowTask()), 'no')
    const first = done(undoing)

    expect(finish(undoing, { ...zombie, ...DONE }, LATER, 0)).toEqual({ ok: true })
    expect(finish(first, { born: BORN, fence: 3, ...DONE }, LATER, 0)).toEqual({ ok: true })
    expect(finish(first, { born: BORN, fence: 2, ...failingFor('no') }, LATER, 0)).toEqual({ ok: true })
    expect(finish(first, { born: BORN, fence: 3, ...failingFor('no') }, LATER, 0).ok).toBe(false)
  })

  it('that is released counts as no attempt, and does not move the flow', () => {
    const held = claimedBy(done(aFlowTask()))

    const back = ended(held, { outcome: 'release', delayMs: 5 * SECOND })

    expect(back).toMatchObject({
      dueAt: NOW + 5 * SECOND,
      failures: 0,
      flow: { presentStep: 1, direction: 'do' },
    })
    expect(attempts(back).used).toBe(0)
    expect(statesOf(back)).toEqual(['succeeded', 'running', 'pending'])
  })
})

describe('a running undo', () => {
  it('has a running place of its own, so that it is counted once', () => {
    const flow = aFlow({ steps: [{ name: 'a', undo: { kind: 'http' } }] })
    const running = claimedBy(failedFor(aFlowTask(flow), 'no'))
    const byHandler = claimedBy(failedFor(aFlowTask(), 'no'))
    const beaten = afterOf(heartbeat(byHandler, { born: BORN, fence: 2 }, NOW + SECOND))

    expect(running.place?.name).toBe('undoing#order#0')
    expect(beaten.place?.name).toBe('undoing#order#0')
    expect(done(failedFor(aFlowTask(flow), 'no')).place).toBeUndefined()
  })
})
