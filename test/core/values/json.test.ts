import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { monotonicUlids } from '../../../shared/core/values/text.ts'
import type { Json } from '../../../shared/core/values/values.ts'
import {
  escapedBytes,
  INEXACT,
  jsonBytes,
  jsonProblem,
  textBytes,
} from '../../../shared/core/values/values.ts'

const nested = (levels: number): unknown => {
  let value: unknown = 1
  for (let i = 0; i < levels; i++) value = [value]
  return value
}

describe('a value that survives storage', () => {
  it.each([
    ['null', null],
    ['an empty string', ''],
    ['empty containers', [{}, []]],
    ['an empty name', { '': { '': 1 } }],
    ['the largest safe integers', [Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]],
    ['fractions', [0.1, -1e-300]],
    ['whole numbers that are floats', [6.02e23, -1e300, 2 ** 60, Number.MAX_VALUE]],
    ['an object without prototype', Object.assign(Object.create(null), { a: 1 })],
    ['a name like __proto__', JSON.parse('{"__proto__": {"a": 1}, "constructor": 2}')],
    ['200 levels', nested(200)],
  ])('%s has no problem', (_name, value) => {
    expect(jsonProblem(value)).toBeUndefined()
  })

  it.each([
    ['a number that has lost digits', { a: [1, INEXACT] }, 'a.1', /lose digits/],
    ['NaN', { a: { b: Number.NaN } }, 'a.b', /finite/],
    ['infinity', [Number.POSITIVE_INFINITY], '0', /finite/],
    ['undefined', { a: undefined }, 'a', /undefined/],
    ['undefined itself', undefined, '', /undefined/],
    ['a function', { a: () => 1 }, 'a', /function/],
    ['a symbol', [Symbol('x')], '0', /symbol/],
    ['a bigint', { n: 1n }, 'n', /bigint/],
    ['a date', { at: new Date(0) }, 'at', /class instance/],
    ['a map', new Map(), '', /class instance/],
    ['201 levels', nested(201), Array(201).fill('0').join('.'), /200 levels/],
  ])('%s is named with its path', (_name, value, path, message) => {
    expect(jsonProblem(value)).toEqual({ path, message: expect.stringMatching(message) })
  })

  it('a value that contains itself is refused', () => {
    const loop: Record<string, unknown> = {}
    loop.self = loop

    expect(jsonProblem(loop)?.message).toMatch(/200 levels/)
  })
})

it('sizes are bytes of UTF-8, not characters', () => {
  expect(textBytes('aä€😀')).toBe(1 + 2 + 3 + 4)
  expect(jsonBytes({ a: '€' })).toBe('{"a":""}'.length + 3)
})

it('escaped bytes are the bytes of JSON text within JSON text: at most twice as many', () => {
  fc.assert(
    fc.property(fc.jsonValue(), value => {
      const text = JSON.stringify(value)
      const escaped = escapedBytes(value as Json)

      expect(escaped).toBe(Buffer.byteLength(JSON.stringify(text)) - 2)
      expect(escaped).toBeLessThanOrEqual(2 * jsonBytes(value as Json))
    }),
  )
})

const TIME = '01KDWPVNG0'

it.each([
  ['0000000000000000', '0000000000000001'],
  ['000000000000000Z', '0000000000000010'],
  ['000000000000ZZZZ', '0000000000010000'],
  ['1234567890ABCDEZ', '1234567890ABCDF0'],
])('the ULID after random part %s of one time has the random part %s', (random, following) => {
  const ulid = monotonicUlids(() => TIME + random)

  expect([ulid(0), ulid(0)]).toEqual([TIME + random, TIME + following])
})

it('the ULID after the largest one of a time is a fresh one', () => {
  const made = ['ZZZZZZZZZZZZZZZZ', '1234567890ABCDEZ'].map(random => TIME + random)
  const ulid = monotonicUlids(() => made.shift() ?? '')

  expect([ulid(0), ulid(0)]).toEqual([`${TIME}ZZZZZZZZZZZZZZZZ`, `${TIME}1234567890ABCDEZ`])
})
