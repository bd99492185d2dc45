import { describe, expect, it } from 'vitest'
import { isQuiet, isStuck, type WaitFacts } from '../../../shared/core/status.ts'
import { aRun, aTask, DAY, MINUTE, NOW, type TaskParts } from '../../support/tasks/a-task.ts'

const LONG_AGO = NOW - DAY
const QUIET = { createdAt: LONG_AGO, updatedAt: LONG_AGO, dueAt: LONG_AGO }
const FREE: WaitFacts = { reason: undefined, isPaused: false, isBehindOthers: false, since: LONG_AGO }

describe('a task is quiet', () => {
  it.each<[string, TaskParts, boolean]>([
    ['that was due and touched long ago', QUIET, true],
    ['but not one that has changed since', { ...QUIET, updatedAt: NOW - 14 * MINUTE }, false],
    ['nor one that fell due lately', { ...QUIET, dueAt: NOW - 14 * MINUTE }, false],
    [
      'nor one whose run has sent a heartbeat lately',
      { ...QUIET, live: [aRun({ leaseUntil: NOW - 14 * MINUTE })] },
      false,
    ],
    [
      'whose run has sent no heartbeat lately',
      { ...QUIET, live: [aRun({ leaseUntil: NOW - 15 * MINUTE })] },
      true,
    ],
    ['nor one that has ended', { ...QUIET, state: 'failed' }, false],
    ['that has ended and owes callbacks', { ...QUIET, state: 'failed', owes: true }, true],
    [
      'that owes callbacks, even if its due time lies ahead',
      { ...QUIET, dueAt: NOW + DAY, state: 'failed', owes: true },
      true,
    ],
  ])('%s', (_name, parts, expected) => {
    expect(isQuiet(aTask(parts), NOW)).toBe(expected)
  })
})

describe('a quiet task is stuck', () => {
  it.each<[string, TaskParts, Partial<WaitFacts>, boolean]>([
    ['when it waits without a reason', QUIET, {}, true],
    ['but may wait for a handler', QUIET, { reason: 'no-handler' }, false],
    ['but may wait for a worker', QUIET, { reason: 'no-worker' }, false],
    ['but may wait while its type is paused', QUIET, { isPaused: true }, false],
    ['but may wait behind other tasks', QUIET, { isBehindOthers: true }, false],
    [
      'but not before all that a run needs has existed for 15 minutes',
      QUIET,
      { since: NOW - 14 * MINUTE },
      false,
    ],
    ['when its run is dead, with any reason to wait', { ...QUIET, live: [aRun()] }, { isPaused: true }, true],
    ['when it owes callbacks', { ...QUIET, state: 'failed', owes: true }, { reason: 'callbacks-owed' }, true],
  ])('%s', (_name, parts, wait, expected) => {
    expect(isStuck(aTask(parts), { ...FREE, ...wait }, NOW)).toBe(expected)
  })
})
