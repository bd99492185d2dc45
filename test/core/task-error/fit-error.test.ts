import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { taskError } from '../../../shared/aws/dynamo/head/run-attributes.ts'
import { fitError, type TaskError } from '../../../shared/core/task-error/task-error.ts'
import { jsonBytes } from '../../../shared/core/values/json.ts'

const bytesOf = (error: TaskError) => jsonBytes([...textsOf(error)])

function textsOf({ name, message, stack = '', causes = [] }: TaskError): string[] {
  return [name, message, stack, ...causes.flatMap(cause => [cause.name, cause.message])]
}

describe('an error is cut to 4 KB of UTF-8, all its parts together,', () => {
  it('but stays unchanged when it fits', () => {
    const error = {
      name: 'TypeError',
      message: 'fetch failed',
      stack: 'TypeError: fetch failed\n    at …',
      causes: [{ name: 'Error', message: 'ECONNREFUSED' }],
    }

    expect(fitError(error)).toEqual(error)
    expect(fitError({ name: 'Error', message: '' })).toEqual({ name: 'Error', message: '' })
  })

  it.each([
    ['a message alone, nearly whole', { name: 'E', message: 'm'.repeat(9_000) }, { message: 4_000 }],
    [
      'a stack, which gives way to the message',
      { name: 'E', message: 'm'.repeat(3_000), stack: 's'.repeat(9_000) },
      { message: 3_000, stack: 1_000 },
    ],
    [
      'all at once: a part of each remains',
      {
        name: 'n'.repeat(9_000),
        message: 'm'.repeat(9_000),
        stack: 's'.repeat(9_000),
        causes: Array.from({ length: 9 }, () => ({ name: 'c'.repeat(9_000), message: 'd'.repeat(9_000) })),
      },
      { message: 500, stack: 900, cause: 200 },
    ],
    [
      'characters of four bytes',
      { name: '😀'.repeat(500), message: '😀'.repeat(5_000), stack: '😀'.repeat(5_000) },
      { message: 1_300, stack: 500 },
    ],
    [
      'control characters, each six bytes of JSON',
      { name: 'E', message: '\u0001'.repeat(5_000) },
      { message: 600 },
    ],
  ] as ReadonlyArray<readonly [string, TaskError, { message?: number; stack?: number; cause?: number }]>)(
    '%s',
    (_name, error, least) => {
      const fitted = fitError(error)

      expect(bytesOf(fitted)).toBeLessThanOrEqual(4_096)
      expect(fitted.message.length).toBeGreaterThanOrEqual(least.message ?? 0)
      expect(fitted.stack?.length ?? 0).toBeGreaterThanOrEqual(least.stack ?? 0)
      for (const { message } of fitted.causes ?? [])
        expect(message.length).toBeGreaterThanOrEqual(least.cause ?? 0)
      expect(fitted.causes?.length ?? 0).toBe(Math.min(5, error.causes?.length ?? 0))
    },
  )

  it('whatever its texts are, and is read as it was stored', () => {
    const text = fc.string({ unit: 'binary', maxLength: 1_500, size: 'max' })
    const cause = fc.record({ name: text, message: text })
    const anError = fc.record(
      { name: text, message: text, stack: text, causes: fc.array(cause, { minLength: 1, maxLength: 7 }) },
      { requiredKeys: ['name', 'message'] },
    )

    fc.assert(
      fc.property(anError, error => {
        const fitted = fitError(error)

        expect(new TextEncoder().encode(taskError.encode(fitted)).length).toBeLessThanOrEqual(4_096)
        expect(textsOf(fitted).every(part => part.isWellFormed())).toBe(true)
        expect(taskError.decode(taskError.encode(fitted))).toEqual(fitted)
      }),
      { numRuns: 40, endOnFailure: true },
    )
  })
})

it('an error that was stored without causes is read unchanged', () => {
  expect(taskError.decode('["E","no"]')).toEqual({ name: 'E', message: 'no' })
  expect(taskError.decode('["E","no","at x"]')).toEqual({ name: 'E', message: 'no', stack: 'at x' })
})
