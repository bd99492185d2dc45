import { describe, expect, it } from 'vitest'
import { PARAMS_BYTES_MAX } from '../../../shared/core/bounds.ts'
import { roomForResult } from '../../../shared/core/flow/flow.ts'
import { restart } from '../../../shared/core/operate/operate.ts'
import { patch } from '../../../shared/core/operate/patch.ts'
import { update } from '../../../shared/core/publish.ts'
import { pieceOf } from '../../../shared/core/task/piece.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import {
  afterOf,
  anEndedRun,
  aPublication,
  aTask,
  DAY,
  HOUR,
  LATER_BORN,
  MINUTE,
  NOW,
} from '../../support/tasks/a-task.ts'
import {
  aFlowTask,
  claimedBy,
  done,
  doneTimes,
  failedFor,
  statesOf,
  THREE_STEPS,
  undoneInTurn,
} from '../../support/tasks/flow-life.ts'

const again = aPublication({
  type: 'order',
  kind: 'flow',
  flow: THREE_STEPS,
  input: { sku: 'y' },
  born: LATER_BORN,
  priority: 4,
})
const restarted = (task: Task) =>
  restart(task, { publication: again, clean: [], keepInput: false, evenWaiting: true }, NOW)
const AT_WORK: Array<[string, Task]> = [
  ['while a step runs', claimedBy(aFlowTask())],
  ['between two steps', done(aFlowTask())],
  ['while the flow undoes', failedFor(done(aFlowTask()), 'no')],
]

describe('publishing a flow again', () => {
  it.each(AT_WORK)('neither restarts nor updates the flow %s', (_name, task) => {
    expect(restarted(task)).toEqual({ ok: false, reason: 'running' })
    expect(update(task, again, NOW)).toEqual({ ok: false, reason: 'running' })
  })

  it('updates or restarts a flow that no worker has begun', () => {
    const updated = afterOf(update(aFlowTask(), again, NOW))

    expect(updated).toMatchObject({ input: { inline: { sku: 'y' } }, priority: 4, born: aFlowTask().born })
    expect(pieceOf(updated)).toBe('a')
    expect(afterOf(restarted(aFlowTask()))).toMatchObject({ born: LATER_BORN, flow: { presentStep: 0 } })
  })

  it.each([
    ['succeeded', doneTimes(aFlowTask(), 3)],
    ['failed', undoneInTurn(failedFor(done(aFlowTask()), 'no')).task],
    ['halted', failedFor(failedFor(aFlowTask(), 'no'), 'no')],
  ])('starts a flow that has %s over from its first step, for any clean', (_name, task) => {
    const fresh = afterOf(restarted(task))

    expect(fresh).toMatchObject({
      state: 'open',
      ended: {},
      failures: 0,
      fence: task.fence,
      flow: { reachedStep: 0 },
    })
    expect(statesOf(fresh)).toEqual(['pending', 'pending', 'pending'])
    expect(fresh.error).toBeUndefined()
  })

  it('counts no run from before its type became a flow', () => {
    const halfDone = aTask({
      type: 'order',
      kind: 'http',
      options: { concurrency: 2 },
      ended: [
        anEndedRun({ result: { inline: 1 } }),
        anEndedRun({ fence: 2, workerId: 'w2', state: 'failed' }),
      ],
    })

    const task = afterOf(update(halfDone, again, NOW))

    expect(task).toMatchObject({
      failures: 0,
      flow: { presentStep: 0, steps: {} },
      ended: { 1: { past: true } },
    })
    expect(pieceOf(claimedBy(task))).toBe('a')
  })
})

describe('patching a flow', () => {
  const patched = (task: Task, changes: Parameters<typeof patch>[1]) => afterOf(patch(task, changes, NOW))

  it('changes fields of the whole flow, and not its present step', () => {
    const task = claimedBy(done(aFlowTask()))

    const after = patched(task, {
      priority: 3,
      input: { sku: 'z' },
      tags: { a: 'b' },
      options: { retentionMs: DAY },
    })

    expect(after).toMatchObject({
      priority: 3,
      input: { inline: { sku: 'z' } },
      tags: { a: 'b' },
      live: task.live,
    })
    expect(after.options).toEqual({ ...task.options, retentionMs: DAY })
    expect(done({ ...after, live: {} }).options.retentionMs).toBe(DAY)
    expect(statesOf(after)).toEqual(['succeeded', 'running', 'pending'])
  })

  it.each([
    ['without one, from its due time', aFlowTask(undefined, { dueAt: NOW + HOUR }), {}, NOW + HOUR + MINUTE],
    ['without one, from its first run', claimedBy(aFlowTask(), 'w1', NOW + 5), {}, NOW + 5 + MINUTE],
    ['with another one', aFlowTask(undefined, { options: { deadlineMs: HOUR } }), {}, NOW + MINUTE],
    [
      'with a new due time',
      aFlowTask(undefined, { options: { deadlineMs: HOUR } }),
      { dueAt: NOW + DAY },
      NOW + DAY + MINUTE,
    ],
  ])('gives a deadline to a flow %s', (_name, task, changes, deadlineAt) => {
    const after = patched(task, { ...changes, options: { deadlineMs: MINUTE } })

    expect(after).toMatchObject({ deadlineAt, flow: { deadlineMs: MINUTE, deadlineAt } })
    expect(after.options.deadlineMs).toBeUndefined()
  })

  it('moves the deadline with the due time', () => {
    const task = aFlowTask(undefined, { options: { deadlineMs: MINUTE } })

    expect(patched(task, { dueAt: NOW + HOUR }).deadlineAt).toBe(NOW + HOUR + MINUTE)
  })

  it('that undoes changes no deadline in force', () => {
    const undoing = failedFor(aFlowTask(), 'no')

    expect(patched(undoing, { options: { deadlineMs: 1 } }).deadlineAt).toBeUndefined()
  })

  it('sets no stage, and is refused once the flow has ended', () => {
    expect(patch(aFlowTask(), { stage: 'x' }, NOW)).toEqual({ ok: false, reason: 'a-flow' })
    expect(patch(doneTimes(aFlowTask(), 3), { priority: 1 }, NOW)).toEqual({ ok: false, reason: 'finished' })
  })
})

it('input and results leave less room for the next result, in the head or apart', () => {
  const published = aFlowTask(undefined, { input: { sku: 'x'.repeat(1_000) } })
  const inHead = done(published, 'x'.repeat(98))
  const apart = done(inHead, 'x'.repeat(9_998))

  expect(roomForResult(published)).toBe(PARAMS_BYTES_MAX - 1_010)
  expect(roomForResult(inHead)).toBe(PARAMS_BYTES_MAX - 1_010 - 100)
  expect(roomForResult(apart)).toBe(PARAMS_BYTES_MAX - 1_010 - 100 - 10_000)
})

it('only flows bound the room for a result', () => {
  expect(roomForResult(aTask())).toBeUndefined()
})
