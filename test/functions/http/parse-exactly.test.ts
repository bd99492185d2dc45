import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseExactly } from '../../../functions/http/read-body.ts'
import { INEXACT } from '../../../shared/core/values/values.ts'

describe('a number in a body', () => {
  it.each(['6.02e23', '1e300', '-1E+21', '1.50e16', '9007199254740991', '10000000000000000', '0.1', '-0.0'])(
    '%s keeps its value',
    text => {
      expect(parseExactly(`[${text}, "9007199254740993"]`)).toEqual([Number(text), '9007199254740993'])
    },
  )

  it.each([
    '9007199254740993',
    '-9007199254740993',
    '10000000000000000000001',
    '9007199254740993.0',
    '1e400',
  ])('%s is refused, since the API would return other digits', text => {
    const [value] = parseExactly(`[${text}, "9007199254740993"]`) as [unknown]

    expect([INEXACT, Number.POSITIVE_INFINITY]).toContain(value)
  })

  it('with digits on both sides of its point never loses a digit silently', () => {
    expect(parseExactly('9007199254740.993e3')).toBe(INEXACT)
  })

  it('keeps its value when JavaScript has written it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), value => {
        expect(parseExactly(`{"0123456789012345":${JSON.stringify(value)}}`)).toEqual({
          '0123456789012345': JSON.parse(JSON.stringify(value)),
        })
      }),
    )
  })

  it('that is whole is refused exactly when it would come back as another number', () => {
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
