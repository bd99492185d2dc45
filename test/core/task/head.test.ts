import { describe, expect, it } from 'vitest'
import { INLINE_BODY_BYTES_MAX } from '../../../shared/core/bounds.ts'
import { createCancelled, noteProgress } from '../../../shared/core/canvas/canvas.ts'
import { isOfTask, revise } from '../../../shared/core/change.ts'
import { remove } from '../../../shared/core/operate/operate.ts'
import { touchSchedule } from '../../../shared/core/schedule.ts'
import type { Head } from '../../../shared/core/task/head.ts'
import {
  bodiesExpiringBefore,
  isCanvas,
  isSameKind,
  isSchedule,
  isTask,
  separateBodies,
  withBodies,
} from '../../../shared/core/task/head.ts'
import { bodyOf, bodyRef } from '../../../shared/core/task/head-fields.ts'
import { shortError } from '../../../shared/core/task-error/task-error.ts'
import {
  aCanvas,
  afterOf,
  anEndedRun,
  aPublication,
  aSchedule,
  aTask,
  BORN,
  NOW,
} from '../../support/tasks/a-task.ts'

const APART = { ref: 'in#1', bytes: 300, expiresAt: NOW }

const HEADS: ReadonlyArray<readonly [string, Head]> = [
  ['task', aTask()],
  ['task', aTask({ kind: 'flow' })],
  ['task', remove(aTask(), NOW).after],
  ['canvas', aCanvas()],
  ['canvas', remove(aCanvas(), NOW).after],
  ['schedule', aSchedule()],
  ['schedule', remove(aSchedule(), NOW).after],
]

describe('each head', () => {
  it.each(HEADS)('is of exactly one kind: a %s', (kind, head) => {
    const kinds = { task: isTask(head), canvas: isCanvas(head), schedule: isSchedule(head) }

    expect(Object.entries(kinds).flatMap(([name, isOne]) => (isOne ? [name] : []))).toEqual([kind])
  })

  it.each(HEADS)('is of the kind of every %s, and of no other head', (kind, head) => {
    const same = HEADS.filter(([, other]) => isSameKind(head, other))

    expect(same).toEqual(HEADS.filter(([other]) => other === kind))
  })

  it('has the members of its kind only, also when it is removed', () => {
    const own = ['live', 'ended', 'failures', 'failuresBy', 'retrying', 'priority', 'ordering']
    const others = HEADS.filter(([kind]) => kind !== 'task')

    for (const [, head] of others) expect(Object.keys(head).filter(name => own.includes(name))).toEqual([])
  })
})

describe('the bodies next to a head', () => {
  it.each([
    ['a task', aTask({ input: APART })],
    ['a canvas', aCanvas({ canvas: { tree: APART, leaves: 1, started: false } })],
    ['a schedule', aSchedule({ input: APART })],
  ])('are found and replaced in %s', (_name, head) => {
    const renewed = withBodies(head, body => ({ ...body, expiresAt: NOW + 1 }))

    expect(separateBodies(head)).toEqual([APART])
    expect(separateBodies(renewed)).toEqual([{ ...APART, expiresAt: NOW + 1 }])
  })
})

it('a change is one of a task exactly when it writes a task', () => {
  expect(isOfTask(createCancelled(aPublication(), NOW).change)).toBe(true)
  expect(isOfTask(revise(aTask(), aTask(), NOW).change)).toBe(true)
  expect(isOfTask({ ...remove(aCanvas(), NOW) })).toBe(false)
  expect(afterOf(noteProgress(aCanvas(), NOW)).kind).toBe('canvas')
  expect(afterOf(touchSchedule(aSchedule(), NOW)).kind).toBe('schedule')
})

describe('a body', () => {
  it('of up to 200 bytes stays in the head', () => {
    const value = 'x'.repeat(INLINE_BODY_BYTES_MAX - 2)

    expect(bodyOf(value, 'ref', NOW)).toEqual({ body: { inline: value }, writes: [] })
  })

  it('of more than 200 bytes is an item of its own, written first', () => {
    const value = 'x'.repeat(INLINE_BODY_BYTES_MAX - 1)

    expect(bodyOf(value, 'ref', NOW)).toEqual({
      body: { ref: 'ref', bytes: INLINE_BODY_BYTES_MAX + 1, expiresAt: NOW },
      writes: [{ ref: 'ref', value, expiresAt: NOW }],
    })
  })

  it('is measured in bytes, not characters', () => {
    expect(bodyOf('€'.repeat(67), 'ref', NOW).writes).toHaveLength(1)
  })

  it('of two inputs decided on the same revision have different places', () => {
    expect(bodyRef.input(BORN, 2, { a: 1 })).not.toBe(bodyRef.input(BORN, 2, { a: 2 }))
  })

  it('records of runs sort by fence', () => {
    const refs = [2, 10, 9].map(fence => bodyRef.run(BORN, fence))

    expect(refs.toSorted()).toEqual([2, 9, 10].map(fence => bodyRef.run(BORN, fence)))
  })

  it('that expires too early is found, in input and results', () => {
    const early = { ref: 'early', bytes: 300, expiresAt: NOW + 1 }
    const late = { ref: 'late', bytes: 300, expiresAt: NOW + 9 }
    const task = aTask({
      input: early,
      ended: [
        anEndedRun({ fence: 1, result: late }),
        anEndedRun({ fence: 2, result: early }),
        anEndedRun({ fence: 3, result: { inline: 1 } }),
      ],
    })

    expect(bodiesExpiringBefore(task, NOW + 5)).toEqual([early, early])
  })
})

describe('an error', () => {
  it('keeps neither stack nor causes in a head', () => {
    expect(
      shortError({
        name: 'Error',
        message: 'no',
        stack: 'at …',
        causes: [{ name: 'Error', message: 'why' }],
      }),
    ).toEqual({
      name: 'Error',
      message: 'no',
    })
  })

  it('is never cut in the middle of a character', () => {
    const { message } = shortError({ name: 'Error', message: `${'x'.repeat(118)}😀tail` })

    expect(message.isWellFormed()).toBe(true)
    expect(message).toHaveLength(120)
  })
})
