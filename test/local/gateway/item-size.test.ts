import { expect, it } from 'vitest'
import { failedWriteUnits, itemSize } from '../../../local/gateway/metering.ts'

it.each([
  ['text', { a: { S: 'héllo' } }, 1 + 6],
  ['a number', { a: { N: '12345' } }, 1 + 4],
  ['bytes', { a: { B: Buffer.from('abc').toString('base64') } }, 1 + 3],
  ['a boolean and a null', { a: { BOOL: true }, b: { NULL: true } }, 4],
  ['a set', { a: { SS: ['x', 'yy'] } }, 1 + 3],
  ['a list', { a: { L: [{ S: 'xy' }, { BOOL: true }] } }, 1 + 3 + 3 + 2],
  ['a map', { a: { M: { bc: { S: 'xy' } } } }, 1 + 3 + 4 + 1],
])('the size of %s', (_name, item, expected) => {
  expect(itemSize(item)).toBe(expected)
})

it('a failed condition costs the started KB of the item, at least one unit', () => {
  expect(failedWriteUnits(undefined)).toBe(1)
  expect(failedWriteUnits({ a: { S: 'x'.repeat(1023) } })).toBe(1)
  expect(failedWriteUnits({ a: { S: 'x'.repeat(1024) } })).toBe(2)
})
