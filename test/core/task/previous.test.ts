import { expect, it } from 'vitest'
import { effectiveInput } from '../../../shared/core/task/task.ts'

it.each([
  ['appends a chain’s value as one argument', [4], [2, 3], 'append', [4, [2, 3]]],
  ['appends each member of a chord’s array as an argument', [4], [2, 4, 11], 'spread', [4, 2, 4, 11]],
  [
    'puts an error’s message in front',
    [4],
    { error: { name: 'E', message: 'no' }, taskId: 'a:1' },
    'prepend',
    ['no', 4],
  ],
  ['keeps an object unchanged', { x: 1 }, 2, 'append', { x: 1 }],
  ['keeps an absent input absent', undefined, 2, 'append', undefined],
  ['treats an empty array as a list of arguments', [], null, 'append', [null]],
] as const)('%s', (_name, input, previous, handOn, expected) => {
  expect(effectiveInput(input, previous, handOn)).toEqual(expected)
})
