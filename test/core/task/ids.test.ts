import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { runId, splitRunId, splitTaskId, taskId } from '../../../shared/core/task/task.ts'
import { BORN } from '../../support/tasks/a-task.ts'

describe('a task id', () => {
  it.each([
    ['resize:img-1', { type: 'resize', key: 'img-1' }],
    ['resize:a:b:c', { type: 'resize', key: 'a:b:c' }],
    ['resize::', { type: 'resize', key: ':' }],
    ['a.b_c-d:ключ/#%', { type: 'a.b_c-d', key: 'ключ/#%' }],
    ['resize:', undefined],
    [':key', undefined],
    ['resize', undefined],
    ['', undefined],
  ])('%j splits into %j', (id, expected) => {
    expect(splitTaskId(id)).toEqual(expected)
  })

  it('of any type and key splits into them again', () => {
    const type = fc.stringMatching(/^[A-Za-z0-9._-]{1,100}$/)
    const key = fc.string({ minLength: 1, maxLength: 200, unit: 'grapheme' })

    const property = fc.property(type, key, (type, key) => {
      expect(splitTaskId(taskId(type, key))).toEqual({ type, key })
    })
    fc.assert(property)
  })
})

describe('a run id', () => {
  it('splits into birth and fence', () => {
    expect(splitRunId(runId(BORN, 12))).toEqual({ born: BORN, fence: 12 })
  })

  it.each([
    '',
    BORN,
    `${BORN}.`,
    `${BORN}.0`,
    `${BORN}.01`,
    `${BORN}.-1`,
    `${BORN}.1.2`,
    `${BORN}.1x`,
    `${BORN.toLowerCase()}.1`,
    `${BORN.slice(1)}.1`,
    `${BORN}.1234567890123456`,
    `${BORN}.1\n`,
  ])('is not %j', id => {
    expect(splitRunId(id)).toBeUndefined()
  })
})
