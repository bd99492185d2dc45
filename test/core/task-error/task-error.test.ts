import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { taskError } from '../../../shared/aws/dynamo/head/head-attributes.ts'
import type { TaskError } from '../../../shared/core/task-error/task-error.ts'
import { errorOfThrown, fitError, ReportedError } from '../../../shared/core/task-error/task-error.ts'
import { jsonBytes } from '../../../shared/core/values/values.ts'

function withMembers(error: Error, members: object): Error {
  return Object.assign(error, members)
}

function circular(): Error {
  const [first, second] = [new Error('first'), new Error('second')]
  first.cause = second
  second.cause = first
  return first
}

function longChain(): Error {
  let error = new Error('cause 9')
  for (let nth = 8; nth >= 1; nth--) error = new Error(`cause ${nth}`, { cause: error })
  return new Error('outermost', { cause: error })
}

function diamond(): Error {
  const shared = new Error('shared')
  return new AggregateError([new Error('a', { cause: shared }), new Error('b', { cause: shared })], 'both')
}

const refused = (port: number) =>
  withMembers(new Error(`connect ECONNREFUSED 127.0.0.1:${port}`), { code: 'ECONNREFUSED' })

/** Thrown values with their descriptions: `name: message`, and the causes in their order. */
const CHAINS: ReadonlyArray<readonly [string, unknown, string, readonly string[]]> = [
  ['an error without a cause', new TypeError('no'), 'TypeError: no', []],
  [
    "fetch's error with its cause",
    new TypeError('fetch failed', { cause: refused(1) }),
    'TypeError: fetch failed',
    ['Error: connect ECONNREFUSED 127.0.0.1:1'],
  ],
  [
    'each address that refused, when their common error has only a code',
    new TypeError('fetch failed', {
      cause: withMembers(new AggregateError([refused(1), refused(2)], ''), { code: 'ECONNREFUSED' }),
    }),
    'TypeError: fetch failed',
    [
      'AggregateError: ECONNREFUSED',
      'Error: connect ECONNREFUSED 127.0.0.1:1',
      'Error: connect ECONNREFUSED 127.0.0.1:2',
    ],
  ],
  [
    'the cause of an aggregate before its errors',
    new AggregateError([new Error('a'), 'b'], 'two', { cause: new Error('why') }),
    'AggregateError: two',
    ['Error: why', 'Error: a', 'Error: b'],
  ],
  ['a cause that is a text', new Error('x', { cause: 'disk full' }), 'Error: x', ['Error: disk full']],
  ['a cause that is an object', new Error('x', { cause: { code: 7 } }), 'Error: x', ['Error: {"code":7}']],
  ['a cause that JSON cannot hold', new Error('x', { cause: 7n }), 'Error: x', ['Error: [object BigInt]']],
  ['causes of null and undefined', new Error('x', { cause: null }), 'Error: x', []],
  ['each error of a circle once', circular(), 'Error: first', ['Error: second']],
  ['a shared cause once', diamond(), 'AggregateError: both', ['Error: a', 'Error: b', 'Error: shared']],
  [
    'the five nearest of many causes',
    longChain(),
    'Error: outermost',
    [1, 2, 3, 4, 5].map(nth => `Error: cause ${nth}`),
  ],
  ['a thrown text', 'no luck', 'Error: no luck', []],
  ['a thrown object', { code: 7 }, 'Error: {"code":7}', []],
  ['nothing', undefined, 'Error: undefined', []],
  [
    'an error whose name and message are not texts',
    withMembers(new Error(), { name: 7, message: { deep: true } }),
    '7: {"deep":true}',
    [],
  ],
]

describe('a thrown value is described with its causes:', () => {
  it.each(CHAINS)('%s', (_name, thrown, headline, causes) => {
    const error = errorOfThrown(thrown)

    expect(`${error.name}: ${error.message}`).toBe(headline)
    expect((error.causes ?? []).map(({ name, message }) => `${name}: ${message}`)).toEqual(causes)
    expect('causes' in error).toBe(causes.length > 0)
  })

  it('an error whose members throw when they are read', () => {
    const error = new Error('hidden')
    for (const member of ['message', 'stack', 'cause', 'errors']) {
      Object.defineProperty(error, member, {
        get: () => {
          throw new Error('do not look')
        },
      })
    }

    expect(errorOfThrown(error)).toEqual({ name: 'Error', message: 'undefined' })
  })

  it('an error of another process, as that process described it', () => {
    const described = {
      name: 'Boom',
      message: 'there',
      stack: 'at there',
      causes: [{ name: 'E', message: 'why' }],
    }

    expect(errorOfThrown(new ReportedError(described, { cause: new Error('here') }))).toBe(described)
  })
})

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
      'a stack, which yields to the message',
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
