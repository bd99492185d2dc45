import { describe, expect, it } from 'vitest'
import { assertKnownSchema, plainItem } from '../../../../shared/aws/dynamo/documents.ts'
import { bodyItem, runFromItem } from '../../../../shared/aws/dynamo/head/body-requests.ts'
import { headItem, isHeadImage, taskFromItem } from '../../../../shared/aws/dynamo/head/items.ts'
import { bodyRef } from '../../../../shared/core/task/head-fields.ts'
import { BatonError } from '../../../../shared/core/values/values.ts'
import { wireItem } from '../../../support/dynamo/wire-item.ts'
import { aCanvas, anEndedRun, aRun, aSchedule, aTask, BORN, DAY, NOW } from '../../../support/tasks/a-task.ts'
import { aFlowTask } from '../../../support/tasks/flow-life.ts'

describe('a head', () => {
  it('expires after its end, in whole seconds and never early; an open one never does', () => {
    expect(headItem(aTask())).not.toHaveProperty('ttl')
    expect(headItem(aTask({ state: 'succeeded', expiresAt: NOW + DAY + 1 }))).toMatchObject({
      expires: NOW + DAY + 1,
      ttl: (NOW + DAY) / 1_000 + 1,
    })
  })

  it('does not expire before its owed callbacks are published', () => {
    const ended = { state: 'succeeded', expiresAt: NOW } as const

    expect(headItem(aTask({ ...ended, owes: true }))).not.toHaveProperty('ttl')
    expect(headItem(aTask(ended))).toHaveProperty('ttl')
  })

  it('is the same task read from a stream record or from the table', () => {
    const task = aTask({
      live: [aRun({ progress: [1.5, null] })],
      ended: [anEndedRun({ fence: 2 })],
      retrying: true,
    })
    const image = wireItem(headItem(task))

    expect(isHeadImage(image)).toBe(true)
    expect(taskFromItem(plainItem(image))).toEqual(task)
    expect(isHeadImage({ pk: { S: 'resize:k1' }, sk: { S: 'in#1' } })).toBe(false)
    expect(isHeadImage({})).toBe(false)
  })

  it('of a flow is not read without its definition', () => {
    expect(() => taskFromItem(headItem(aFlowTask()))).toThrow(/steps .* are not stored/)
  })

  it.each([
    ['canvas', { ...headItem(aCanvas()), canvas: undefined }],
    ['schedule', { ...headItem(aSchedule()), sched: undefined }],
  ])('is refused if it lacks what a %s consists of', (_name, item) => {
    expect(() => taskFromItem(item)).toThrow(expect.objectContaining({ code: 'invalid' }))
  })

  it('of newer code is refused, naming the task and both versions', () => {
    const newer = { ...headItem(aTask()), v: 2 }

    expect(() => assertKnownSchema(newer)).toThrow(BatonError)
    expect(() => assertKnownSchema(newer)).toThrow(
      expect.objectContaining({
        code: 'newer-schema',
        message: expect.stringMatching(/resize:k1 .*version 2.* up to 1/),
      }),
    )
  })
})

describe('items next to heads', () => {
  it('expire in whole seconds, never early', () => {
    const write = { ref: `in#${BORN}#1#0`, value: {}, expiresAt: NOW + 1 }

    expect(bodyItem('resize:k1', write)).toEqual({
      pk: 'resize:k1',
      sk: write.ref,
      v: 1,
      ttl: NOW / 1_000 + 1,
      json: '{}',
    })
  })

  it('keep an ended run whole', () => {
    const run = anEndedRun({
      state: 'failed',
      cause: 'timed-out',
      error: { name: '', message: '\ud800' },
      progress: {},
    })

    const ref = bodyRef.run(BORN, run.fence)
    expect(runFromItem(bodyItem('resize:k1', { ref, run, expiresAt: NOW }))).toEqual({ born: BORN, ...run })
  })
})

it('attribute values become plain values, whatever the name of a key', () => {
  const values = plainItem({
    list: { L: [{ S: '' }, { N: '-1.5' }, { BOOL: false }, { NULL: true }] },
    map: { M: Object.fromEntries([['__proto__', { N: '1' }]]) },
  })

  expect(values.list).toEqual(['', -1.5, false, null])
  expect(Object.entries(values.map as object)).toEqual([['__proto__', 1]])
})
