import { expect, it } from 'vitest'
import { aCalculatingSystem, testArithmetic } from '../../support/canvases/arithmetic.ts'
import type { Given } from '../../support/http/http-workers.ts'

const { system, ended, canvasWhen } = aCalculatingSystem()

testArithmetic('handlers and an HTTP worker', { add: 'add', multiply: 'product', ended })

it('an immutable member of a canvas receives no earlier result', async () => {
  const canvas = await ended({
    chain: [
      { type: 'add', input: [2, 2] },
      { type: 'note', input: [], immutable: true },
    ],
  })

  expect(canvas.result).toEqual({ words: [], previous: null })
})

it('a chain stops at an error, and onError receives the message of the error as first argument', async () => {
  const canvas = await ended({
    chain: [
      { type: 'add', input: [1] },
      {
        type: 'fail',
        input: ['no'],
        immutable: true,
        onError: [{ type: 'note', key: 'told', input: ['sorry'] }],
      },
      { type: 'add', input: [1] },
    ],
  })
  const note = await system.taskWhen('note:told', ({ status }) => status === 'succeeded')

  expect(canvas).toMatchObject({ status: 'failed', error: { message: 'no' } })
  expect(canvas.items.map(({ status }: Given) => status)).toEqual(['succeeded', 'failed', 'skipped'])
  expect(note.result.words).toEqual(['no', 'sorry'])
  expect(note.result.previous).toMatchObject({ taskId: canvas.items[1].taskId, error: { name: 'Fatal' } })
})

it('a chord with failing members runs its error callback once, and never its callback', async () => {
  const { body } = await system.call('POST', '/v1/canvases', {
    chord: {
      group: [
        { type: 'add', input: [1] },
        { type: 'fail', input: ['first'] },
        { type: 'fail', input: ['second'] },
      ],
      then: { type: 'note', input: [] },
      onError: { type: 'note', input: ['sorry'] },
    },
  })

  const canvas = await canvasWhen(body.id)

  expect(canvas).toMatchObject({ status: 'failed', error: { message: 'first' } })
  const [, , , then, onError] = canvas.items
  expect([then.status, onError.status]).toEqual(['skipped', 'succeeded'])
  expect((await system.call('GET', `/v1/tasks/${then.taskId}`)).status).toBe(404)
  expect(onError.result.words).toEqual(['first', 'sorry'])
  expect((await system.call('GET', `/v1/tasks/${onError.taskId}`)).body.runs).toHaveLength(1)
})

it('the cancellation of a canvas cancels all its open tasks', async () => {
  const { body } = await system.call('POST', '/v1/canvases', {
    chain: [
      {
        group: [
          { type: 'add', input: [1], delayMs: 3_600_000 },
          { type: 'add', input: [1] },
        ],
      },
      { type: 'add', input: [1] },
    ],
  })

  const answer = await system.call('POST', `/v1/canvases/${body.id}/cancel`)

  expect(answer).toMatchObject({ status: 200 })
  const items = async () => (await system.call('GET', `/v1/canvases/${body.id}`)).body.items
  await expect
    .poll(async () => (await items()).map(({ status }: Given) => status))
    .toEqual(['cancelled', expect.stringMatching(/succeeded|cancelled/), 'cancelled'])
})
