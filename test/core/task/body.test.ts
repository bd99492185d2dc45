import { describe, expect, it } from 'vitest'
import { INLINE_BODY_BYTES_MAX } from '../../../shared/core/bounds.ts'
import { bodyOf, bodyRef } from '../../../shared/core/task/body.ts'
import { bodiesExpiringBefore } from '../../../shared/core/task/head.ts'
import { shortError } from '../../../shared/core/task-error/task-error.ts'
import { anEndedRun, aTask, BORN, NOW } from '../../support/tasks/a-task.ts'

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
