import { describe, expect, it } from 'vitest'
import type { LetterQueue, LetterSubject } from '../../../shared/core/dead-letters.ts'
import {
  idsOfQueue,
  isLetterId,
  isMissing,
  letterId,
  lostMessageOf,
  replayQueueOf,
} from '../../../shared/core/dead-letters.ts'
import { explainLetter } from '../../../shared/service/why/explain-letter.ts'
import { aLetter } from '../../support/tasks/a-letter.ts'
import { aTask, NOW } from '../../support/tasks/a-task.ts'

describe('the id of a dead letter', () => {
  it('sorts by queue and time, and begins with its queue', () => {
    const ids = [letterId('type:resize', 2, 'b'), letterId('type:resize', 11, 'a'), letterId('wake', 1, 'c')]

    expect([...ids].sort()).toEqual(ids)
    expect(ids.every(isLetterId)).toBe(true)
    expect(ids[0]?.startsWith(idsOfQueue('type:resize'))).toBe(true)
    expect(letterId('type:resize-2', 2, 'b').startsWith(idsOfQueue('type:resize'))).toBe(false)
  })

  it.each(['', 'wake', 'wake~1~m', 'wake~00000000000001~m/n', 'type:a b~00000000000001~m'])(
    'is not %j',
    text => {
      expect(isLetterId(text)).toBe(false)
    },
  )
})

const MINUTE: LetterSubject = { kind: 'minute', dueAt: NOW }

describe('where a dead letter is sent again', () => {
  it.each<[LetterQueue, LetterSubject, string | undefined]>([
    ['type:resize', { kind: 'dispatch', taskId: 'resize:a' }, 'type:resize'],
    ['type:resize', { kind: 'unreadable' }, 'type:resize'],
    ['wake', { kind: 'look', taskId: 'resize:a', born: '01', revision: 1 }, 'wake'],
    ['jobs', { kind: 'job', type: 'resize', job: 'purge' }, 'jobs'],
    ['schedules', MINUTE, 'wake'],
    ['schedules', { kind: 'round' }, undefined],
    ['stream', { kind: 'changes', count: 3, shardId: 's' }, undefined],
    ['unknown', { kind: 'unreadable' }, undefined],
  ])('of %s with %j: %s', (queue, subject, target) => {
    expect(replayQueueOf({ queue, subject })).toBe(target)
  })
})

describe('the sentences about a dead letter', () => {
  it.each<[LetterQueue, LetterSubject, RegExp, RegExp]>([
    [
      'type:resize',
      { kind: 'dispatch', taskId: 'resize:a' },
      /^The message that announces resize:a to workers was given up before .* UTC \(now\), after 10 deliveries; the sweeper sends another one/,
      /^Read the log of the handler of resize: .*"ids": \["type:resize~/,
    ],
    [
      'wake',
      { kind: 'look', taskId: 'resize:a', born: '01', revision: 1 },
      /^The message to look at resize:a .* the sweeper looks at the task itself\.$/,
      /^Read the errors of the waker\. Then send it again/,
    ],
    ['wake', { kind: 'limit', limit: 'resize=x' }, /wait for the limit resize=x /, /waker/],
    ['schedules', MINUTE, /due in the minute from 20.* UTC \(now\) /, /permissions of the schedule/],
    [
      'wake',
      { kind: 'events', count: 2, taskId: 'resize:a' },
      /^A message with 2 events, the first about resize:a, was .* nothing replaces these events\.$/,
      /send it again/,
    ],
    ['jobs', { kind: 'canvas', canvasId: 'canvas:a' }, /continue canvas:a /, /jobs function/],
    ['jobs', { kind: 'job', type: 'resize', job: 'purge' }, /job purge of resize /, /jobs function/],
    [
      'stream',
      { kind: 'changes', count: 3, shardId: 's' },
      /^A batch of 3 changes of the table .* plans these tasks from the table/,
      /planner\. It cannot be sent again, and disappears at .* \(in 14 days\)\.$/,
    ],
    [
      'schedules',
      { kind: 'round' },
      /^A round of the sweeper .* within a minute\.$/,
      /error with the permissions of the schedule/,
    ],
    ['unknown', { kind: 'unreadable' }, /that this version cannot read/, /cannot be sent again/],
  ])('of %s with %j', (queue, subject, sentence, next) => {
    const letter = aLetter({ queue, subject })

    const text = explainLetter(letter, NOW)

    expect(text.sentence).toMatch(sentence)
    expect(text.next).toMatch(next)
  })

  it('name the last error of the service, and no deliveries where there was no queue', () => {
    const letter = aLetter({ queue: 'schedules', subject: MINUTE, receives: 0, error: 'AccessDenied: no' })

    const { sentence } = explainLetter(letter, NOW)

    expect(sentence).toContain('(now) (AccessDenied: no); ')
    expect(sentence).not.toContain('deliver')
  })
})

describe('a lost message is the reason why a task waits', () => {
  const task = aTask({ revision: 3, dueAt: NOW - 5_000 })
  const { born } = task
  const note = (kind: 'dispatch' | 'look') =>
    lostMessageOf(aLetter({ subject: { kind, taskId: task.id, born, revision: 3 } }))
  const running = {
    ...task,
    live: { 1: { fence: 1, workerId: 'w', startedAt: NOW - 20_000, leaseUntil: NOW - 1 } },
  } as unknown as typeof task
  const beating = {
    ...running,
    live: { 1: { fence: 1, workerId: 'w', startedAt: NOW - 20_000, leaseUntil: NOW + 1 } },
  } as unknown as typeof task

  it.each([
    ['a due task without its dispatch', task, 'dispatch', true],
    ['a due task without a look', task, 'look', true],
    ['a run whose lease has ended, without its look', running, 'look', true],
    ['a run whose lease has ended, which needs no dispatch', running, 'dispatch', false],
    ['a run whose lease lasts', beating, 'look', false],
    ['a task that is not due yet', { ...task, dueAt: NOW + 1 }, 'dispatch', false],
    ['a task that has changed since', { ...task, revision: 4 }, 'dispatch', false],
    ['a task of a later birth', { ...task, born: 'later' }, 'dispatch', false],
    ['a task that has ended', { ...task, state: 'succeeded' }, 'dispatch', false],
  ] as const)('%s', (_name, one, kind, expected) => {
    expect(isMissing(note(kind), one as typeof task, NOW)).toBe(expected)
  })

  it('not without a note, and not after the note has expired', () => {
    expect(isMissing(undefined, task, NOW)).toBe(false)
    expect(isMissing({ ...note('dispatch')!, expiresAt: NOW }, task, NOW)).toBe(false)
  })

  it('a message that names no revision leaves no note', () => {
    const subjects: LetterSubject[] = [
      { kind: 'dispatch', taskId: 'resize:a' },
      { kind: 'limit', limit: 'resize' },
      { kind: 'unreadable' },
    ]

    expect(subjects.map(subject => lostMessageOf(aLetter({ subject })))).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})
