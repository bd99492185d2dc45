import { expect, it } from 'vitest'
import { didYouMean, thereAre } from '../../../shared/core/rules/rules.ts'

it.each<[string, string[], string]>([
  ['resise', ['jobs', 'resize', 'resized'], "; did you mean 'resize' or 'resized'?"],
  ['RESIZE', ['resize'], "; did you mean 'resize'?"],
  ['retries', ['retry', 'key'], "; did you mean 'retry'?"],
  ['images', ['resize-images', 'mail'], "; did you mean 'resize-images'?"],
  ['mail', ['jobs', 'report'], ''],
  ['a', ['b', 'c', 'd', 'e'], "; did you mean 'b' or 'c' or 'd'?"],
  ['', ['jobs'], ''],
  ['x'.repeat(5_000), ['x'], ''],
])('%s may be a typing mistake for one of %j', (name, names, question) => {
  expect(didYouMean(name, names)).toBe(question)
})

it.each<[string, string[], string]>([
  ['mail', [], '; none is registered yet'],
  ['mail', ['b', 'a'], '; there are a, b'],
  [
    'mial',
    ['z', 'y', 'x', 'w', 'v', 'u', 'mail'],
    "; did you mean 'mail'? There are mail, u, v, w, x and 2 more",
  ],
])('%s is unknown among %j', (name, names, ending) => {
  expect(thereAre(name, names)).toBe(ending)
})
