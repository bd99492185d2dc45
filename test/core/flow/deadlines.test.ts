import { describe, expect, it } from 'vitest'
import { resolveOptions } from '../../../shared/core/options/options.ts'
import { claim } from '../../../shared/core/run/claim.ts'
import { pieceOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake/look.ts'
import { aFlow, afterOf, HOUR, MINUTE, NOW, SECOND } from '../../support/tasks/a-task.ts'
import {
  aFlowTask,
  claimedBy,
  done,
  ended,
  failedFor,
  failingFor,
  statesOf,
} from '../../support/tasks/flow-life.ts'
import { nextWake } from '../../support/tasks/next-wake.ts'

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

  it('gives way to an earlier deadline of a step', () => {
    const begun = claimedBy(within(HOUR, LIMITED))

    expect(begun.deadlineAt).toBe(NOW + MINUTE)
    expect(done(within(HOUR, LIMITED)).deadlineAt).toBe(NOW + HOUR)
  })
})
