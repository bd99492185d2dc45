import { expect, it } from 'vitest'
import { matchesPattern, type Pattern, readFilters } from '../../../local/mappings/mapping.ts'

const event = {
  eventName: 'INSERT',
  size: 5,
  dynamodb: {
    NewImage: { op: { S: 'put' }, count: { N: '3' }, gone: { NULL: true } },
    Keys: { sk: { S: 'head' } },
  },
}

const newImage = (attribute: string, rules: unknown[], type = 'S'): Pattern => ({
  dynamodb: { NewImage: { [attribute]: { [type]: rules } } },
})

/** The operator, a pattern that uses it, and whether `event` matches. */
it.each<[string, Pattern, boolean]>([
  ['equals', { eventName: ['INSERT', 'MODIFY'] }, true],
  ['equals none', { eventName: ['REMOVE'] }, false],
  ['nested equals', { dynamodb: { Keys: { sk: { S: ['head'] } } } }, true],
  ['all keys must match', { eventName: ['INSERT'], dynamodb: { Keys: { sk: { S: ['body'] } } } }, false],
  ['anything-but', newImage('op', [{ 'anything-but': 'beat' }]), true],
  ['anything-but a list', newImage('op', [{ 'anything-but': ['beat', 'put'] }]), false],
  ['anything-but a prefix', newImage('op', [{ 'anything-but': { prefix: 'pu' } }]), false],
  ['anything-but of an absent attribute', newImage('absent', [{ 'anything-but': 'beat' }]), false],
  ['prefix', newImage('op', [{ prefix: 'pu' }]), true],
  ['suffix', newImage('op', [{ suffix: 'it' }]), false],
  ['exists', newImage('op', [{ exists: true }]), true],
  ['exists false on an absent one', newImage('absent', [{ exists: false }]), true],
  ['exists false on a present one', newImage('op', [{ exists: false }]), false],
  ['exists true on an object', { dynamodb: { NewImage: { op: [{ exists: true }] } } } as Pattern, false],
  ['absent or something else', newImage('op', [{ exists: false }, { 'anything-but': 'beat' }]), true],
  ['numbers of DynamoDB are strings', newImage('count', [{ numeric: ['>', 1] }], 'N'), false],
  ['numeric', { size: [{ numeric: ['>', 1, '<=', 5] }] }, true],
  ['null', newImage('gone', [true], 'NULL'), true],
  ['$or', { $or: [{ eventName: ['REMOVE'] }, { size: [5] }] }, true],
  ['equals-ignore-case', { eventName: [{ 'equals-ignore-case': 'insert' }] }, true],
])('a pattern with %s matches the event: %3$s', (_name, pattern, expected) => {
  expect(matchesPattern(pattern, event)).toBe(expected)
})

it('an unknown operator is refused when the filter is read', () => {
  const criteria = { Filters: [{ Pattern: '{"a":[{"cidr":"10.0.0.0/8"}]}' }] }

  expect(() => readFilters(criteria)).toThrow('cidr')
})
