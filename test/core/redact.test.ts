import { describe, expect, test } from 'vitest'
import { redactionOf } from '../../shared/core/redact.ts'

const INPUT = {
  card: { number: '4111111111111111', cvc: '123' },
  cards: [{ number: 42424242 }],
  amount: 5_000,
}
const { text, fields, error } = redactionOf(['card.number', 'card.cvc', 'cards.number', 'token'], INPUT)

describe('what a definition marks is hidden', () => {
  test.each([
    ['as a field of the line', { token: 'abc' }, { token: '[redacted]' }],
    [
      'wherever an object holds it',
      { input: INPUT },
      {
        input: {
          card: { number: '[redacted]', cvc: '[redacted]' },
          cards: [{ number: '[redacted]' }],
          amount: 5_000,
        },
      },
    ],
    ['whatever it is', { token: { deep: ['x'] } }, { token: '[redacted]' }],
    ['as a value of the input under another name', { pan: 'no 4111111111111111' }, { pan: 'no [redacted]' }],
    ['as a number of the input', { of: 42424242, and: 4242 }, { of: '[redacted]', and: 4242 }],
    [
      'but no other field of that name',
      { number: 7, other: { number: 8 } },
      { number: 7, other: { number: 8 } },
    ],
  ])('%s', (_name, given, shown) => {
    expect(fields(given)).toEqual(shown)
  })

  test('as a value of the input in a message; short ones are hidden as fields only', () => {
    expect(text('charging 4111111111111111, 123 and 42424242')).toBe(
      'charging [redacted], 123 and [redacted]',
    )
  })

  test('in all parts of an error', () => {
    const secret = INPUT.card.number
    const thrown = {
      name: 'E',
      message: `bad ${secret}`,
      stack: `at ${secret}`,
      causes: [{ name: 'C', message: secret }],
    }

    expect(JSON.stringify(error(thrown))).not.toContain(secret)
    expect(error(thrown).causes).toEqual([{ name: 'C', message: '[redacted]' }])
  })

  test('in a circle, too, which ends', () => {
    const circle: Record<string, unknown> = { token: 'abcd' }
    circle.self = circle

    expect(JSON.stringify(fields(circle))).not.toContain('abcd')
  })
})

test('nothing is copied where nothing is marked', () => {
  const given = { a: 1 }

  expect(redactionOf([], INPUT).fields(given)).toBe(given)
})
