import { expect, it } from 'vitest'
import { effectiveInput } from '../../../shared/core/task/previous.ts'

it.each([
  ['appends a chain’s value as one argument', [4], [2, 3], 'append', [4, [2, 3]]],
  ['appends a chord’s array as so many', [4], [2, 4, 11], 'spread', [4, 2, 4, 11]],
  [
    'puts an error’s message in front',
    [4],
    { error: { name: 'E', message: 'no' }, taskId: 'a:1' },
    'prepend',
    ['no', 4],
  ],
  ['leaves an object as it is', { x: 1 }, 2, 'append', { x: 1 }],
  ['leaves no input as it is', undefined, 2, 'append', undefined],
  ['takes an empty array for one that takes arguments', [], null, 'append', [null]],
] as const)('%s', (_name, input, previous, handOn, expected) => {
  expect(effectiveInput(input, previous, handOn)).toEqual(expected)
})
