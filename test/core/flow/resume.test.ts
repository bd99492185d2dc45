import { describe, expect, it } from 'vitest'
import { type ResumeAction, resume } from '../../../shared/core/flow/resume.ts'
import { cancel, recordCallbacksPublished } from '../../../shared/core/operate/operate.ts'
import { finish } from '../../../shared/core/run/finish.ts'
import { statusOf } from '../../../shared/core/status.ts'
import { memberEnd } from '../../../shared/core/task/head-fields.ts'
import { attempts, idempotencyKey, pieceOf, resultOf } from '../../../shared/core/task/piece.ts'
import { needsAttention, type Task } from '../../../shared/core/task/task.ts'
import { look } from '../../../shared/core/wake.ts'
import { aFlow, afterOf, aTask, BORN, HOUR, MINUTE, NOW } from '../../support/tasks/a-task.ts'
import {
  aFlowTask,
  claimedBy,
  DONE,
  done,
  doneTimes,
  failedFor,
  statesOf,
  undoneInTurn,
} from '../../support/tasks/flow-life.ts'

const LATER = NOW + HOUR
const resumed = (task: Task, action: ResumeAction) => afterOf(resume(task, action, LATER))

/** A flow whose first two steps are done, and whose third step failed, and then its undo. */
const HALTED = failedFor(failedFor(doneTimes(aFlowTask(), 2), 'no courier'), 'bank closed')
/** A flow whose third step is undone, and the undo of whose second step failed. */
const HALTED_EARLIER = failedFor(done(failedFor(doneTimes(aFlowTask(), 2), 'no courier')), 'bank closed')
const UNDONE = undoneInTurn(failedFor(done(aFlowTask()), 'no')).task
const NOT_UNDOABLE = failedFor(done(aFlowTask(aFlow({ steps: [{ name: 'a' }, { name: 'b' }] }))), 'no')

describe('retry-do', () => {
  it('does the failed step again, due at once, with a fresh budget, under the same birth and key', () => {
    const task = resumed(HALTED, 'retry-do')

    expect(task).toMatchObject({ state: 'open', operation: 'resume', dueAt: LATER, born: BORN, failures: 0 })
    expect(statesOf(task)).toEqual(['succeeded', 'succeeded', 'pending'])
    expect(pieceOf(task)).toBe('c')
    expect(attempts(task)).toEqual({ used: 0, left: 2 })
    expect(idempotencyKey(task)).toBe(`order:k1/${BORN}/c`)
    for (const gone of ['error', 'finishedAt', 'expiresAt'] as const) expect(task[gone]).toBeUndefined()
    expect(done(task, 'sent', LATER)).toMatchObject({ state: 'succeeded' })
  })

  it('of an undone step is another piece of work, with another key', () => {
    const onlyFirst = failedFor(aFlowTask(), 'no')
    const { task } = undoneInTurn(onlyFirst)

    const again = resumed(task, 'retry-do')

    expect(idempotencyKey(onlyFirst)).toBe(`order:k1/${BORN}/undo a`)
    expect(idempotencyKey(again)).toBe(`order:k1/${BORN}/a/2`)
    expect(idempotencyKey(failedFor(again, 'no', LATER))).toBe(`order:k1/${BORN}/undo a/2`)
  })

  it('of a canvas’s member does not change its first end, which the canvas counts', () => {
    const member = { canvasId: 'c', born: BORN, leaf: 0 }

    const again = resumed({ ...HALTED, member }, 'retry-do')

    expect(again.member).toEqual({ ...member, first: 'failed' })
    expect(memberEnd(done(again, 'sent', LATER))?.end).toBe('failed')
  })

  it('may fail again, and then all steps are undone', () => {
    const again = failedFor(resumed(HALTED, 'retry-do'), 'still none', LATER)

    const { pieces, task } = undoneInTurn(again, LATER)

    expect(pieces).toEqual(['undo c', 'undo b', 'undo a'])
    expect(task).toMatchObject({ state: 'failed', error: { message: 'still none' } })
    expect(needsAttention(task)).toBe(false)
  })

  it('refuses reports of runs of the first attempt', () => {
    const task = claimedBy(resumed(HALTED, 'retry-do'), 'w1', LATER)

    expect(finish(task, { born: BORN, fence: 3, ...DONE }, LATER, 0).ok).toBe(false)
    expect(task.fence).toBe(5)
  })

  it('resumes a flow whose steps have no undo, or whose failed first step was undone', () => {
    const first = undoneInTurn(failedFor(aFlowTask(), 'no')).task

    expect(pieceOf(resumed(NOT_UNDOABLE, 'retry-do'))).toBe('b')
    expect(statesOf(resumed(first, 'retry-do'))).toEqual(['pending', 'pending', 'pending'])
  })
})

describe('retry-do and continue of a flow whose earlier undo failed', () => {
  it.each<[ResumeAction, string]>([
    ['retry-do', 'c'],
    ['continue', 'd'],
  ])('%s continues with %s, and counts the step as done', (action, piece) => {
    const definition = aFlow({ steps: ['a', 'b', 'c', 'd'].map(name => ({ name, undo: {} })) })
    const third = doneTimes(aFlowTask(definition), 2)
    const halted = failedFor(done(failedFor(third, 'no courier')), 'bank closed')

    const task = resumed(halted, action)

    expect(pieceOf(task)).toBe(piece)
    expect(statesOf(task).slice(0, 2)).toEqual(['succeeded', 'succeeded'])
    expect(task.flow?.steps[1]).not.toHaveProperty('undo')
    const { pieces } = undoneInTurn(failedFor(task, 'no', LATER), LATER)
    expect(pieces).toEqual([...(piece === 'd' ? ['undo d'] : []), 'undo c', 'undo b', 'undo a'])
  })

  it('are another piece of work, since the failed step was undone', () => {
    const retried = resumed(HALTED_EARLIER, 'retry-do')

    expect(idempotencyKey(retried)).toBe(`order:k1/${BORN}/c/2`)
    expect(idempotencyKey(failedFor(retried, 'no', LATER))).toBe(`order:k1/${BORN}/undo c/2`)
    expect(resumed(HALTED_EARLIER, 'continue')).toMatchObject({ state: 'succeeded', flow: { round: 2 } })
  })

  it('are refused once a step before the failed one was undone', () => {
    const undone = failedFor(done(done(failedFor(doneTimes(aFlowTask(), 2), 'no courier'))), 'bank closed')

    expect(statesOf(undone)).toEqual(['undo-failed', 'undone', 'undone'])
    for (const action of ['retry-do', 'continue'] as const) {
      expect(resume(undone, action, LATER)).toEqual({ ok: false, reason: 'undone' })
    }
    expect(pieceOf(resumed(undone, 'retry-undo'))).toBe('undo a')
  })
})

describe('continue', () => {
  it('counts the failed step as done by the operator, and opens the next one', () => {
    const failed = failedFor(failedFor(done(aFlowTask()), 'no'), 'no')

    const task = resumed(failed, 'continue')

    expect(statesOf(task)).toEqual(['succeeded', 'succeeded', 'pending'])
    expect(task).toMatchObject({
      state: 'open',
      dueAt: LATER,
      flow: { reachedStep: 2, presentStep: 2, direction: 'do' },
    })
    expect(task.flow?.steps[1]).toMatchObject({ do: { endedAt: LATER } })
    expect(task.flow?.steps[1]?.do.error).toBeUndefined()
    expect(task.flow?.steps[1]?.undo).toBeUndefined()
  })

  it('undoes the step that the operator did, too, when a later one fails', () => {
    const task = resumed(failedFor(failedFor(done(aFlowTask()), 'no'), 'no'), 'continue')

    expect(undoneInTurn(failedFor(task, 'no', LATER), LATER).pieces).toEqual(['undo c', 'undo b', 'undo a'])
  })

  it('ends the flow after its last step, without a result', () => {
    const task = resumed(HALTED, 'continue')

    expect(task).toMatchObject({ state: 'succeeded', finishedAt: LATER, view: { bucket: 'succeeded' } })
    expect(resultOf(task)).toBeUndefined()
    expect(task.error).toBeUndefined()
  })

  it('counts a step that no worker claimed before the deadline as begun', () => {
    const limited = aFlowTask(undefined, { options: { deadlineMs: MINUTE } })
    const expired = afterOf(look(limited, NOW + MINUTE, 0))

    const task = resumed(expired, 'continue')

    expect(task.flow?.steps[0]).toMatchObject({ state: 'succeeded', do: { startedAt: LATER } })
    expect(task).toMatchObject({ deadlineAt: LATER + MINUTE })
  })
})

describe('retry-undo', () => {
  it.each([
    ['of the failed step', HALTED, ['undo c', 'undo b', 'undo a']],
    ['of an earlier one', HALTED_EARLIER, ['undo b', 'undo a']],
  ])('continues with the undo %s', (_name, halted, undos) => {
    const open = resumed(halted, 'retry-undo')
    const { pieces, task } = undoneInTurn(open, LATER)

    expect(statusOf(open, LATER)).toBe('compensating')
    expect(attempts(open)).toEqual({ used: 0, left: 2 })
    expect(pieces).toEqual(undos)
    expect(statesOf(task)).toEqual(['undone', 'undone', 'undone'])
    expect(task).toMatchObject({ state: 'failed', error: { message: 'no courier' } })
  })

  it('that fails again stops again', () => {
    const task = failedFor(resumed(HALTED_EARLIER, 'retry-undo'), 'still closed', LATER)

    expect(statesOf(task)).toEqual(['succeeded', 'undo-failed', 'undone'])
    expect(needsAttention(task)).toBe(true)
  })

  it('of a cancelled flow ends it cancelled', () => {
    const halted = failedFor(afterOf(cancel(doneTimes(aFlowTask(), 2), NOW)), 'no')

    const { pieces, task } = undoneInTurn(resumed(halted, 'retry-undo'), LATER)

    expect(pieces).toEqual(['undo b', 'undo a'])
    expect(task.state).toBe('cancelled')
  })
})

describe('skip-undo', () => {
  it.each([
    ['of the failed step', HALTED, ['undo b', 'undo a'], ['undone', 'undone', 'skipped']],
    ['of an earlier one', HALTED_EARLIER, ['undo a'], ['undone', 'skipped', 'undone']],
  ])('counts the undo %s as done by the operator', (_name, halted, undos, states) => {
    const { pieces, task } = undoneInTurn(resumed(halted, 'skip-undo'), LATER)

    expect(pieces).toEqual(undos)
    expect(statesOf(task)).toEqual(states)
    expect(task).toMatchObject({ state: 'failed', error: { message: 'no courier' } })
    expect(needsAttention(task)).toBe(false)
  })

  it('of the last undo that is left ends the flow', () => {
    const halted = failedFor(failedFor(aFlowTask(), 'no'), 'bank closed')

    expect(resumed(halted, 'skip-undo')).toMatchObject({ state: 'failed', finishedAt: LATER })
    expect(statesOf(resumed(halted, 'skip-undo'))).toEqual(['skipped', 'pending', 'pending'])
  })
})

describe('resuming a flow is refused', () => {
  const all: ResumeAction[] = ['retry-do', 'continue', 'retry-undo', 'skip-undo']
  const owing = failedFor(
    aFlowTask(aFlow({ steps: [{ name: 'a' }] }), {
      callbacks: { onSuccess: [], onError: [{ type: 'alert' }] },
    }),
    'no',
  )

  it.each<[string, Task, ResumeAction[], string]>([
    ['a task that is not a flow', aTask({ state: 'failed' }), all, 'not-a-flow'],
    ['one that is open', aFlowTask(), all, 'not-failed'],
    ['one that undoes', failedFor(aFlowTask(), 'no'), all, 'not-failed'],
    ['one that has succeeded', doneTimes(aFlowTask(), 3), all, 'not-failed'],
    ['one that was cancelled', afterOf(cancel(aFlowTask(), NOW)), all, 'not-failed'],
    ['one whose earlier steps are undone', UNDONE, ['retry-do', 'continue'], 'undone'],
    [
      'one whose earlier steps are skipped',
      failedFor(resumed(HALTED_EARLIER, 'skip-undo'), 'x', LATER),
      ['retry-do', 'continue'],
      'undone',
    ],
    ['one whose steps are all undone', UNDONE, ['retry-undo', 'skip-undo'], 'no-failed-undo'],
    ['one without any undo', NOT_UNDOABLE, ['retry-undo', 'skip-undo'], 'no-failed-undo'],
    ['one whose callbacks are not published yet', owing, all, 'owes'],
  ])('for %s', (_name, task, actions, reason) => {
    for (const action of actions) expect(resume(task, action, LATER)).toEqual({ ok: false, reason })
  })

  it('only until its callbacks are published', () => {
    expect(pieceOf(resumed(afterOf(recordCallbacksPublished(owing, NOW)), 'retry-do'))).toBe('a')
  })
})
