import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { batchesOf } from '../../../shared/aws/sqs/messages.ts'
import {
  decodeDispatch,
  decodeWake,
  encodeCanvasLook,
  encodeDispatch,
  encodeJob,
  encodeLateEvents,
  encodeLimitLook,
  encodeLook,
  encodeMinute,
  freshBody,
} from '../../../shared/aws/sqs/wire.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { BatonError, type Json } from '../../../shared/core/values/values.ts'
import type { TaskCodec } from '../../../shared/ports/messages.ts'
import { aTask, BORN } from '../../support/tasks/a-task.ts'

/** Texts of all code units, also halves of pairs. Building fast-check's own `binary` strings takes seconds. */
const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map(units => String.fromCharCode(...units))

/** A codec that carries a task unchanged. */
const plainCodec: TaskCodec = { encode: task => task as unknown as Json, decode: async form => form as Task }

describe('messages', () => {
  it('carry any text through SQS, which refuses some characters: they are plain ASCII', () => {
    fc.assert(
      fc.property(anyText, text => {
        const task = aTask({ input: { inline: [text, '\ud800', '\uffff', '👩‍👩‍👧', '\u0000'] } })

        const body = encodeDispatch(plainCodec, { task })

        expect(body).toMatch(/^[\x20-\x7e]*$/)
        expect(decodeDispatch(body)).toEqual({ id: task.id, form: task, passedOn: 0 })
        expect(decodeDispatch(encodeDispatch(plainCodec, { task, passedOn: 2, hops: 3 }))).toEqual({
          id: task.id,
          form: task,
          passedOn: 2,
          hops: 3,
        })
      }),
    )
  })

  it('of the waker are decoded as they were encoded', () => {
    const look = { id: 'a:b', born: BORN, revision: 3, hops: 2, delaySeconds: 0 }

    expect(decodeWake(encodeLook(look))).toEqual({ kind: 'look', look })
    const canvas = { id: 'canvas:ü', born: BORN, from: 300, delaySeconds: 0 }
    expect(decodeWake(encodeCanvasLook(canvas))).toEqual({ kind: 'canvas', look: canvas })
    for (const limit of [
      { line: { kind: 'slot', limit: 'a=ü' }, at: 5, delaySeconds: 0 },
      { line: { kind: 'slot', limit: 'a' }, delaySeconds: 0 },
      { line: { kind: 'permit', limit: 'a' }, released: 7, delaySeconds: 0 },
    ] as const) {
      expect(decodeWake(encodeLimitLook(limit))).toEqual({ kind: 'limit', look: limit })
    }
    const job = {
      type: 'resize',
      job: { kind: 'resume' as const },
      bucket: 'open' as const,
      shard: 1,
      after: { id: 'resize:ü', sort: 7 },
      delaySeconds: 0,
    }
    expect(decodeWake(encodeJob(job))).toEqual({ kind: 'job', look: job })
    const late = {
      events: [{ id: 'e', type: 'task.ready', at: 7, taskId: 'a:ü' } as const],
      hops: 2,
      delaySeconds: 0,
    }
    expect(decodeWake(encodeLateEvents(late))).toEqual({ kind: 'events', late })
    expect(decodeWake(encodeMinute({ minute: 5 }))).toEqual({ kind: 'minute', minute: 5 })
    expect(decodeWake(encodeMinute({ minute: 5, shard: 2 }))).toMatchObject({
      kind: 'minute-shard',
      look: { minute: 5, shard: 2 },
    })
  })

  it.each([
    '',
    'null',
    '{}',
    '[]',
    '{"v":1}',
    '{"v":1,"kind":"look"}',
    '{"v":1,"kind":"minute"}',
    '{"v":1,"kind":"job","type":"a"}',
    '{"v":1,"kind":"events"}',
    '{"v":1,"kind":"?"}',
  ])('that have no known form are refused: %s', body => {
    expect(() => decodeWake(body)).toThrow(BatonError)
    expect(() => decodeDispatch(body)).toThrow(BatonError)
  })

  it('of newer code are refused with the code `newer-schema`, so that the waker keeps them', () => {
    expect(() => decodeWake('{"v":2,"kind":"look"}')).toThrow(
      expect.objectContaining({ code: 'newer-schema' }),
    )
  })
})

describe('batches', () => {
  it('hold at most 10 messages and 1 MB, in order, each message once', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300_000 }), { maxLength: 60 }), sizes => {
        const messages = sizes.map((size, index) => ({ index, body: 'x'.repeat(size) }))

        const batches = batchesOf(messages)

        expect(batches.flat()).toEqual(messages)
        for (const batch of batches) {
          expect(batch.length).toBeLessThanOrEqual(10)
          expect(batch.reduce((sum, { body }) => sum + body.length, 0)).toBeLessThanOrEqual(1_000_000)
        }
      }),
      { numRuns: 30 },
    )
  })
})

it('a message that is sent again begins a new chain', () => {
  const late = encodeLateEvents({ events: [], hops: 200, delaySeconds: 0 })
  const dispatch = encodeDispatch(plainCodec, { task: aTask(), passedOn: 2, hops: 3 })

  expect(decodeWake(freshBody(late))).toMatchObject({ late: { hops: 0 } })
  expect(decodeDispatch(freshBody(dispatch))).toMatchObject({ passedOn: 0 })
  expect(decodeDispatch(freshBody(dispatch))).not.toHaveProperty('hops')
  expect(freshBody('no JSON')).toBe('no JSON')
})
