import { describe, expect, it } from 'vitest'
import { problemOf } from './dynamo-rules.ts'

const KEY = { pk: 'resize:k1', sk: 'head' }

describe('a write is refused for', () => {
  it.each([
    ['an empty key', { Item: { pk: '', sk: 'head' } }, 'an empty key'],
    ['an empty key of an index', { Item: { ...KEY, vpk: '', vsk: 1 } }, 'an empty key'],
    ['a long partition key', { Item: { pk: 'x'.repeat(2_049), sk: 'head' } }, 'a key of 2049 bytes'],
    ['a long sort key', { Item: { pk: 'x', sk: 'ü'.repeat(513) } }, 'a key of 1026 bytes'],
    ['a number that is NaN', { Item: { ...KEY, due: Number.NaN } }, 'the number NaN'],
    ['an infinite number', { Item: { ...KEY, live: { 1: { lease: 1 / 0 } } } }, 'the number Infinity'],
    ['a number that is not safe', { Item: { ...KEY, due: 2 ** 53 } }, 'which is not safe'],
    ['a large item', { Item: { ...KEY, json: 'x'.repeat(410_000) } }, 'an item of 4100'],
    ['half a character in a name', { Item: { ...KEY, live: { '\ud800': 1 } } }, 'a name that is not Unicode'],
    [
      'a long update',
      { Key: KEY, UpdateExpression: `SET ${'#a = :a, '.repeat(500)}` },
      'an expression of 45',
    ],
    [
      'a long condition',
      { Key: KEY, ConditionExpression: '#a = :a AND '.repeat(400) },
      'an expression of 4800 bytes',
    ],
    [
      'a value of an update',
      { Key: KEY, ExpressionAttributeValues: { ':v0': { due: -1 / 0 } } },
      'the number -Infinity',
    ],
    [
      'a name of an update',
      { Key: KEY, ExpressionAttributeNames: { '#n0': 'w\udc00' } },
      'a name that is not Unicode',
    ],
  ])('%s', (_name, request, problem) => {
    expect(problemOf({ UpdateExpression: undefined, ...request })).toContain(problem)
  })
})

it('a legal write is not refused', () => {
  const live = { 1: { worker: 'w1', lease: Number.MAX_SAFE_INTEGER } }

  expect(problemOf({ Item: { ...KEY, vpk: 'resize#open#0', vsk: -1, live } })).toBeUndefined()
  expect(
    problemOf({ Item: { ...KEY, json: '"\ud800"', ok: new Set([1, 2]), nothing: null } }),
  ).toBeUndefined()
})
