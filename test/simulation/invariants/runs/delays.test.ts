import { describe, expect, it } from 'vitest'
import { anEndedRun, aRun, aTask, NOW } from '../../../support/tasks/a-task.ts'
import { aScenario, aType } from '../../generate/trials/trial.ts'
import { createJudge } from '../../simulate/judge.ts'
import type { HistoryEvent } from '../../world/history.ts'

const TYPE = aType('lambda')
const run = aRun()
const before = aTask({ type: TYPE.type, operation: 'claim', revision: 2, fence: run.fence, live: [run] })
const { id } = before

const ends = (end: 'fail' | 'later'): HistoryEvent => ({
  ...{ at: NOW, by: 'lambda by-lambda-1', what: 'ended', id, fence: run.fence, end },
})

/** The failed run is written, and the task waits for a time that no backoff has. */
const isWritten: HistoryEvent = {
  at: NOW,
  by: 'lambda by-lambda-1',
  what: 'write',
  before,
  after: aTask({
    ...before,
    ...{
      operation: 'fail',
      revision: 3,
      failures: 1,
      live: [],
      ended: [anEndedRun({ ...run, state: 'failed' })],
    },
    ...{ updatedAt: NOW, dueAt: NOW + 7 },
  }),
  clock: NOW,
}

const PROMISE = 'the delay before a retry follows from the failures before it'

describe('a delay that no backoff has', () => {
  it.each([
    ['breaks the promise after an error that names no delay', [ends('fail')], PROMISE],
    ['keeps the promise after an error that names the delay', [ends('later')], undefined],
    [
      'keeps the promise when only the last local retry names the delay',
      [ends('fail'), ends('later')],
      undefined,
    ],
    ['breaks the promise when the last local retry names no delay', [ends('later'), ends('fail')], PROMISE],
  ])('%s', (_name, events, expected) => {
    const judge = createJudge(aScenario(1, { trial: 'edits', types: [TYPE] }))

    for (const event of [...events, isWritten]) judge.see(event)

    expect(judge.broken()?.invariant).toBe(expected)
  })
})
