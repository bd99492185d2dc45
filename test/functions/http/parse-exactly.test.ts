import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseExactly } from '../../../functions/http/parse-exactly.ts'
import { INEXACT } from '../../../shared/core/json.ts'

describe('a number in a body', () => {
  test.each([
    '6.02e23',
    '1e300',
    '-1E+21',
    '1.50e16',
    '9007199254740991',
    '10000000000000000',
    '0.1',
    '-0.0',
  ])('%s is taken as it is', text => {
    expect(parseExactly(`[${text}, "9007199254740993"]`)).toEqual([Number(text), '9007199254740993'])
  })

  test.each([
    '9007199254740993',
    '-9007199254740993',
    '10000000000000000000001',
    '9007199254740993.0',
    '1e400',
  ])('%s is not, since other digits would come back', text => {
    const [value] = parseExactly(`[${text}, "9007199254740993"]`) as [unknown]

    expect([INEXACT, Number.POSITIVE_INFINITY]).toContain(value)
  })

  test('whose digits are split by its point does not lose one unseen', () => {
    expect(parseExactly('9007199254740.993e3')).toBe(INEXACT)
  })

  test('comes back as any double was written', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
        expect(parseExactly(`{"0123456789012345":${JSON.stringify(value)}}`)).toEqual({
          '0123456789012345': JSON.parse(JSON.stringify(value)),
        })
      }),
    )
  })

  test('is refused exactly when a whole number would come back as another', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 10n ** 15n, max: 10n ** 30n }), whole => {
        const isSame = digits(JSON.stringify(Number(whole))) === whole

        expect(parseExactly(String(whole))).toBe(isSame ? Number(whole) : INEXACT)
      }),
    )
  })
})

/** The digits of JSON text without a fraction. */
function digits(text: string): bigint {
  const [mantissa = '', exponent = '0'] = text.split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  return BigInt(whole + fraction) * 10n ** BigInt(Number(exponent) - fraction.length)
}
