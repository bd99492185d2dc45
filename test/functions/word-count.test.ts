import { describe, expect, it } from 'vitest'
import { countWords } from '../../functions/tasks/word-count.ts'

describe('counting words', () => {
  it.each([
    ['', { words: 0, distinct: 0, lines: 0 }],
    ['To be, or not to be.', { words: 6, distinct: 4, lines: 1 }],
    ['eins zwei\ndrei', { words: 3, distinct: 3, lines: 2 }],
    ['naïve café — naïve', { words: 3, distinct: 2, lines: 1 }],
  ])('of %j', (text, expected) => {
    expect(countWords(text)).toMatchObject(expected)
  })

  it('names the most frequent first', () => {
    expect(countWords('b a b c b a').top).toEqual([
      { word: 'b', count: 3 },
      { word: 'a', count: 2 },
      { word: 'c', count: 1 },
    ])
  })
})
