import { describe, expect, it } from 'vitest'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { resolveOptions } from '../../../shared/core/options.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { statusOf } from '../../../shared/core/status.ts'
import { pieceOf } from '../../../shared/core/task/piece.ts'
import { needsAttention, type Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import { aFlow, afterOf, BORN, HOUR, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
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
import { nextWake } from '../../support/tasks/next-wake.ts'

const cancelled = (task: Task) => afterOf(cancel(task, NOW))
const LEFT = aFlow({ onCancel: 'leave', steps: ['a', 'b', 'c'].map(name => ({ name, undo: {} })) })

describe('cancelling a flow that undoes', () => {
  it.each([
    ['before anything began', aFlowTask(), [], ['pending', 'pending', 'pending']],
    ['while its first step runs', claimedBy(aFlowTask()), ['undo a'], ['undone', 'pending', 'pending']],
    ['between two steps', done(aFlowTask()), ['undo a'], ['undone', 'pending', 'pending']],
    [
      'while a later step runs',
      claimedBy(done(aFlowTask())),
      ['undo b', 'undo a'],
      ['undone', 'undone', 'pending'],
    ],
    [
      'while a step waits for its retry',
      ended(claimedBy(doneTimes(aFlowTask(), 2)), failingFor('no', false)),
      ['undo c', 'undo b', 'undo a'],
      ['undone', 'undone', 'undone'],
    ],
  ])('%s', (_name, task, undos, states) => {
    const { pieces, task: after } = undoneInTurn(cancelled(task))

    expect(pieces).toEqual(undos)
    expect(statesOf(after)).toEqual(states)
    expect(after).toMatchObject({
      state: 'cancelled',
      live: {},
      flow: { reachedStep: task.flow?.presentStep },
    })
    expect(after.error).toBeUndefined()
  })

  it('stops the run, records that at its step, and makes the flow compensating', () => {
    const after = cancelled(claimedBy(done(aFlowTask())))

    expect(statusOf(after, NOW)).toBe('compensating')
    expect(after.ended[2]).toMatchObject({ state: 'cancelled', piece: 'b' })
    expect(after.flow?.steps[1]).toMatchObject({
      state: 'failed',
      do: { attempts: 1, endedAt: NOW, error: { name: 'Cancelled' } },
    })
    expect(finish(after, { born: BORN, fence: 2, ...DONE }, NOW, 0)).toMatchObject({ reason: 'cancelled' })
  })

  it('undoes at once, although the step had a retry in an hour', () => {
    const retried = ended(claimedBy(aFlowTask()), {
      outcome: 'fail',
      error: { name: 'Error', message: 'no' },
      retryInMs: HOUR,
    })

    expect(retried.dueAt).toBe(NOW + HOUR)
    expect(cancelled(retried)).toMatchObject({ dueAt: NOW, retrying: false, flow: { direction: 'undo' } })
  })

  it('fails the flow when an undo fails, and the flow needs attention', () => {
    const after = failedFor(cancelled(done(aFlowTask())), 'bank closed')

    expect(after).toMatchObject({ state: 'failed', error: { message: 'bank closed' } })
    expect(needsAttention(after)).toBe(true)
  })

  it('may be repeated, but is refused for a flow that undoes after a failure or that has ended', () => {
    expect(cancel(cancelled(done(aFlowTask())), NOW)).toEqual({ ok: false, reason: 'already-cancelled' })
    expect(cancel(failedFor(aFlowTask(), 'no'), NOW)).toEqual({ ok: false, reason: 'undoing' })
    expect(cancel(doneTimes(aFlowTask(), 3), NOW)).toEqual({ ok: false, reason: 'finished' })
  })
})

describe('cancelling a flow whose type says leave', () => {
  it.each([
    ['before anything began', aFlowTask(LEFT), ['pending', 'pending', 'pending']],
    ['while a step runs', claimedBy(done(aFlowTask(LEFT))), ['succeeded', 'failed', 'pending']],
    ['between two steps', done(aFlowTask(LEFT)), ['succeeded', 'pending', 'pending']],
  ])('%s', (_name, task, states) => {
    const after = cancelled(task)

    expect(after).toMatchObject({ state: 'cancelled', live: {}, view: { bucket: 'cancelled' } })
    expect(statesOf(after)).toEqual(states)
  })
})

describe('cancelling a flow without an undo', () => {
  it('ends the flow, and leaves no step running', () => {
    const flow = aFlow({ steps: [{ name: 'a' }, { name: 'b' }] })

    const after = cancelled(claimedBy(aFlowTask(flow)))

    expect(after.state).toBe('cancelled')
    expect(after.flow?.steps[0]).toMatchObject({ state: 'failed', do: { error: { name: 'Cancelled' } } })
  })
})

describe('removing a flow', () => {
  it.each([
    ['at work', claimedBy(done(aFlowTask()))],
    ['undoing', claimedBy(failedFor(done(aFlowTask()), 'no'))],
    ['halted', failedFor(failedFor(aFlowTask(), 'no'), 'no')],
  ])('%s leaves a tombstone without steps, and refuses its run', (_name, task) => {
    const { after } = remove(task, NOW + SECOND)

    expect(after).toMatchObject({ state: 'removed', live: {}, fence: task.fence })
    expect(after.flow).toBeUndefined()
    expect(pieceOf(after)).toBeUndefined()
    expect(after.view).toBeUndefined()
    expect(finish(after, { born: BORN, fence: task.fence, ...DONE }, NOW, 0)).toMatchObject({
      reason: 'removed',
    })
  })
})

const limited = {
  options: resolveOptions({ deadlineMs: MINUTE, retry: { maxRetries: 1, delayMs: HOUR, maxDelayMs: HOUR } }),
}
/** A flow in which each step and each undo has a deadline of one minute from its first claim. */
const LIMITED = aFlow({ steps: ['a', 'b'].map(name => ({ name, do: limited, undo: limited })) })

const looked = (task: Task, now: number) => afterOf(look(task, now, 0))

describe('the deadline of a step', () => {
  it('counts from its first claim, however late that is', () => {
    const waiting = done(aFlowTask(LIMITED))
    const begun = claimedBy(waiting, 'w1', NOW + HOUR)

    expect(waiting.deadlineAt).toBeUndefined()
    expect(begun.deadlineAt).toBe(NOW + HOUR + MINUTE)
    expect(statesOf(begun)).toEqual(['succeeded', 'running'])
  })

  it('stops its run, and the flow undoes', () => {
    const after = looked(claimedBy(done(aFlowTask(LIMITED))), NOW + MINUTE)

    expect(after).toMatchObject({ operation: 'expire', live: {}, error: { name: 'DeadlineExceeded' } })
    expect(after.ended[2]).toMatchObject({ state: 'failed', cause: 'timed-out', piece: 'b' })
    expect(after.flow?.steps[1]).toMatchObject({
      state: 'failed',
      do: { attempts: 1, error: { message: 'not done within 60000 ms of its first claim' } },
    })
    expect(pieceOf(after)).toBe('undo b')
    expect(after.deadlineAt).toBeUndefined()
  })

  it('includes its retries: a step with a retry in an hour is undone at once', () => {
    const retried = ended(claimedBy(aFlowTask(LIMITED)), failingFor('no', false))

    const after = looked(retried, NOW + MINUTE)

    expect(retried).toMatchObject({ dueAt: NOW + HOUR, deadlineAt: NOW + MINUTE })
    expect(nextWake(retried, NOW)).toBe(NOW + MINUTE)
    expect(after).toMatchObject({ dueAt: NOW + MINUTE, retrying: false, flow: { direction: 'undo' } })
  })

  it('is found by a claim that comes too late, and by a failure that comes too late', () => {
    const retried = ended(claimedBy(aFlowTask(LIMITED)), failingFor('no', false))
    const late = claim(retried, { workerId: 'w1' }, NOW + MINUTE)
    const failing = ended(claimedBy(aFlowTask(LIMITED)), failingFor('no', false), NOW + MINUTE)

    expect(late).toMatchObject({ ok: false, reason: 'finished' })
    expect(late.change?.after.flow).toMatchObject({ direction: 'undo', presentStep: 0 })
    expect(failing).toMatchObject({
      dueAt: NOW,
      flow: { direction: 'undo' },
      error: { name: 'DeadlineExceeded' },
    })
  })

  it('does not undo a success that comes late', () => {
    const after = ended(claimedBy(aFlowTask(LIMITED)), { outcome: 'succeed' }, NOW + HOUR)

    expect(after).toMatchObject({ state: 'open', flow: { presentStep: 1, direction: 'do' } })
  })

  it('of an undo stops the undoing', () => {
    const undoing = claimedBy(failedFor(done(aFlowTask(LIMITED)), 'no'))

    const after = looked(undoing, NOW + MINUTE)

    expect(after).toMatchObject({ state: 'failed', error: { message: 'no' } })
    expect(after.flow?.steps[1]).toMatchObject({
      state: 'undo-failed',
      undo: { attempts: 1, error: { name: 'DeadlineExceeded' } },
    })
  })
})

describe('the deadline of the flow', () => {
  const within = (deadlineMs: number, flow = aFlow()) => aFlowTask(flow, { options: { deadlineMs } })

  it('counts from its due time and holds for all steps together', () => {
    const task = within(HOUR)
    const late = done(task, undefined, NOW + HOUR - SECOND)

    expect(task).toMatchObject({ deadlineAt: NOW + HOUR, flow: { deadlineMs: HOUR } })
    expect(late).toMatchObject({ flow: { presentStep: 1 }, deadlineAt: NOW + HOUR })
    expect(nextWake(late, NOW + HOUR - SECOND)).toBe(NOW + HOUR)
  })

  it('ends a flow that no worker has begun, with nothing to undo', () => {
    const after = looked(within(HOUR), NOW + HOUR)

    expect(after).toMatchObject({
      state: 'failed',
      error: { name: 'DeadlineExceeded', message: 'the flow was not done within 3600000 ms of its due time' },
    })
    expect(statesOf(after)).toEqual(['failed', 'pending', 'pending'])
    expect(after.flow?.steps[0]?.do).toMatchObject({ attempts: 0 })
  })

  it.each([
    ['between two steps', (task: Task) => done(task), 'undo reserve', ['succeeded', 'failed', 'pending'], 0],
    [
      'while a step runs',
      (task: Task) => claimedBy(done(task)),
      'undo charge',
      ['succeeded', 'failed', 'pending'],
      1,
    ],
  ])('undoes %s', (_name, led, piece, states, attempts) => {
    const after = looked(led(within(10 * SECOND)), NOW + 10 * SECOND)

    expect(pieceOf(after)).toBe(piece)
    expect(statesOf(after)).toEqual(states)
    expect(after.flow).toMatchObject({ reachedStep: 1, steps: { 1: { do: { attempts } } } })
  })

  it('does not limit the undoing', () => {
    const undoing = failedFor(within(MINUTE), 'no')

    expect(undoing.deadlineAt).toBeUndefined()
    expect(done(undoing, undefined, NOW + HOUR)).toMatchObject({ state: 'failed', error: { message: 'no' } })
  })

  it('yields to an earlier deadline of a step', () => {
    const begun = claimedBy(within(HOUR, LIMITED))

    expect(begun.deadlineAt).toBe(NOW + MINUTE)
    expect(done(within(HOUR, LIMITED)).deadlineAt).toBe(NOW + HOUR)
  })
})
