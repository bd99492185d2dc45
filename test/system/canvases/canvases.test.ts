import { expect, it } from 'vitest'
import { aCalculatingSystem, testArithmetic } from '../../support/canvases/arithmetic.ts'
import type { Given } from '../../support/http/http-workers.ts'

const { system, ended } = aCalculatingSystem()

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
