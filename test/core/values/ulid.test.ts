import { expect, it } from 'vitest'
import { monotonicUlids } from '../../../shared/core/values/text.ts'

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
