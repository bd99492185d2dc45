import { describe, expect, it } from 'vitest'
import { decideSeries, decideWithoutPermit } from '../../../shared/core/limits/held-permits.ts'
import { aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'

const task = { ...aTask(), updatedAt: NOW }
const ofOther = { holder: 'h', taskId: 'resize:other', since: NOW }
const ofTask = { holder: 'h', taskId: task.id, since: NOW }

describe('a claim that has found all permits held', () => {
  it.each([
    ['notes that tasks wait', { holders: [ofOther] }, 0, 'note-wait'],
    [
      'waits without a note, when the last note is less than a minute old',
      { holders: [ofOther], waitNotedAt: NOW },
      59,
      'wait',
    ],
    [
      'notes again that tasks wait, a minute after the last note',
      { holders: [ofOther], waitNotedAt: NOW },
      60,
      'note-wait',
    ],
    [
      'leaves a task that another worker is about to claim',
      { holders: [ofTask], waitNotedAt: NOW },
      9,
      'leave',
    ],
    [
      'notes that tasks wait, ten seconds after another worker took a permit for the task',
      { holders: [ofTask] },
      10,
      'note-wait',
    ],
    [
      'notes that tasks wait, when the permit for the task is older than its head',
      { holders: [{ ...ofTask, since: NOW - 1 }] },
      1,
      'note-wait',
    ],
  ] as const)('%s', (_case, held, afterS, expected) => {
    expect(decideWithoutPermit(task, held, NOW + afterS * SECOND)).toBe(expected)
  })
})

describe('a series of looks', () => {
  it.each([
    [
      'has its next look soon after a look that admitted a task',
      1,
      { admitted: 1, isWaitedFor: true },
      { kind: 'look-again', emptyLooksInRow: 0, delaySeconds: 5 },
    ],
    [
      'goes on while a task waits',
      1,
      { admitted: 0, isWaitedFor: true },
      { kind: 'look-again', emptyLooksInRow: 0, delaySeconds: 15 },
    ],
    [
      'goes on after one look that found no waiting task',
      0,
      { admitted: 0, isWaitedFor: false },
      { kind: 'look-again', emptyLooksInRow: 1, delaySeconds: 15 },
    ],
    [
      'ends after two looks that found no waiting task',
      1,
      { admitted: 0, isWaitedFor: false },
      { kind: 'end' },
    ],
  ] as const)('%s', (_case, emptyLooks, found, expected) => {
    expect(decideSeries(emptyLooks, found)).toEqual(expected)
  })
})
