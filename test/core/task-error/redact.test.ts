import { describe, expect, it } from 'vitest'
import { redactionOf } from '../../../shared/core/task-error/redact.ts'

const INPUT = {
  card: { number: '4111111111111111', cvc: '123' },
  cards: [{ number: 42424242 }],
  amount: 5_000,
}
const { text, fields, error } = redactionOf(['card.number', 'card.cvc', 'cards.number', 'token'], INPUT)

describe('a marked value is hidden', () => {
  it.each([
    ['as a field of the line', { token: 'abc' }, { token: '[redacted]' }],
    [
      'at any depth of an object',
      { input: INPUT },
      {
        input: {
          card: { number: '[redacted]', cvc: '[redacted]' },
          cards: [{ number: '[redacted]' }],
          amount: 5_000,
        },
      },
    ],
    ['as a whole object', { token: { deep: ['x'] } }, { token: '[redacted]' }],
    ['as a value of the input under another name', { pan: 'no 4111111111111111' }, { pan: 'no [redacted]' }],
    ['as a number of the input', { of: 42424242, and: 4242 }, { of: '[redacted]', and: 4242 }],
    [
      'but other fields of that name are shown',
      { number: 7, other: { number: 8 } },
      { number: 7, other: { number: 8 } },
    ],
  ])('%s', (_name, given, shown) => {
    expect(fields(given)).toEqual(shown)
  })

  it('as a value of the input in a message; short ones are hidden as fields only', () => {
    expect(text('charging 4111111111111111, 123 and 42424242')).toBe(
      'charging [redacted], 123 and [redacted]',
    )
  })

  it('as a value that is deep in the input', () => {
    const levels = 100
    let input: unknown = { card: INPUT.card }
    for (let level = 0; level < levels; level++) input = { of: [input] }

    expect(redactionOf(['card.number'], input).text(`charging ${INPUT.card.number}`)).toBe(
      'charging [redacted]',
    )
  })

  it('in all parts of an error', () => {
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

  const SECRET = INPUT.card.number
  class Card {
    number = SECRET
    owner = 'x'
  }

  it.each([
    [
      'in an error at any depth, and in its causes',
      { attempt: { error: new Error(SECRET, { cause: new Error(SECRET) }) } },
      { attempt: { error: { message: '[redacted]', causes: [{ name: 'Error', message: '[redacted]' }] } } },
    ],
    ['in an instance of a class', { card: new Card() }, { card: { number: '[redacted]', owner: 'x' } }],
    [
      'in an object without prototype',
      { of: Object.assign(Object.create(null), { pan: SECRET }) },
      { of: { pan: '[redacted]' } },
    ],
    ['in a map', { card: new Map([['number', 'other']]) }, { card: { number: '[redacted]' } }],
    ['in a set', { of: new Set([SECRET]) }, { of: ['[redacted]'] }],
    [
      'in the value that `toJSON` of an object returns',
      { of: { toJSON: () => ({ pan: SECRET }) } },
      { of: { pan: '[redacted]' } },
    ],
    ['as the name of a field', { of: { [SECRET]: 1 } }, { of: { '[redacted]': 1 } }],
    ['in bytes', { of: Buffer.from(SECRET) }, { of: '[redacted]' }],
    [
      'in an object whose members throw when they are read',
      {
        of: {
          get pan() {
            throw new Error(SECRET)
          },
        },
      },
      { of: '[redacted]' },
    ],
    ['but not a date', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
  ])('%s', (_name, given, shown) => {
    expect(fields(given)).toMatchObject(shown)
    expect(JSON.stringify(fields(given))).not.toContain(SECRET)
  })

  it('in objects that all refer to each other', () => {
    const crowd: Array<{ name: string; others: unknown }> = []
    for (let nth = 0; nth < 50; nth++) crowd.push({ name: SECRET, others: crowd })

    expect(JSON.stringify(fields({ crowd }))).not.toContain(SECRET)
  })

  it('in an object that contains itself', () => {
    const circle: Record<string, unknown> = { token: 'abcd' }
    circle.self = circle

    expect(JSON.stringify(fields(circle))).not.toContain('abcd')
  })
})

it('nothing is copied when nothing is marked', () => {
  const given = { a: 1 }

  expect(redactionOf([], INPUT).fields(given)).toBe(given)
})
