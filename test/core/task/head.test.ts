import { describe, expect, it } from 'vitest'
import { createCancelled, noteProgress } from '../../../shared/core/canvas/canvas.ts'
import { isOfTask, revise } from '../../../shared/core/change/change.ts'
import { remove } from '../../../shared/core/operate/operate.ts'
import { touchSchedule } from '../../../shared/core/schedule/schedule.ts'
import {
  type Head,
  isCanvas,
  isSameKind,
  isSchedule,
  isTask,
  separateBodies,
  withBodies,
} from '../../../shared/core/task/head.ts'
import { aCanvas, afterOf, aPublication, aSchedule, aTask, NOW } from '../../support/tasks/a-task.ts'

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

describe('the bodies beside a head', () => {
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
