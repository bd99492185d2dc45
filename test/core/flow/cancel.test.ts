import { describe, expect, it } from 'vitest'
import { needsAttention } from '../../../shared/core/flow/flow.ts'
import { cancel, remove } from '../../../shared/core/operate/operate.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { statusOf } from '../../../shared/core/status/status.ts'
import { pieceOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aFlow, afterOf, BORN, HOUR, NOW, SECOND } from '../../support/tasks/a-task.ts'
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
