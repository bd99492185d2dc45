import { describe, expect, it } from 'vitest'
import type { ApiMinute } from '../../shared/api/diagnosis/statistics.ts'
import { openAfter, perMinute, slotsOf } from '../../web/charts/series.ts'
import { rate, usd } from '../../web/parts/format.ts'

/** What charts and tables show of the activity. */

const at = (minute: number) => new Date(minute * 60_000).toISOString()
const aMinute = (minute: number, more: Partial<ApiMinute>): ApiMinute => ({
  at: at(minute),
  ...{ published: 0, started: 0, succeeded: 0, failed: 0, cancelled: 0 },
  ...more,
})

describe('the slots of a chart', () => {
  it('hold every minute of the span, with all types added up', () => {
    const types = [
      { type: 'a', minutes: [aMinute(1, { succeeded: 2, lateness: { p50Ms: 1, p95Ms: 8 } })] },
      { type: 'b', minutes: [aMinute(1, { succeeded: 3, lateness: { p50Ms: 1, p95Ms: 4 } })] },
    ]

    const slots = slotsOf(types, at(0), at(2))

    expect(slots.map(({ succeeded, lateMs }) => [succeeded, lateMs])).toEqual([
      [0, undefined],
      [5, 8],
      [0, undefined],
    ])
  })

  it('give a rate over the last five whole minutes', () => {
    const minutes = [0, 1, 2, 3, 4, 5, 6].map(nth => aMinute(nth, { succeeded: nth === 6 ? 999 : nth }))

    expect(perMinute(slotsOf([{ type: 'a', minutes }], at(0), at(6)), 'succeeded')).toBe(3)
    expect(perMinute([], 'failed')).toBe(0)
  })

  it('lead back from the open tasks of now to those of each minute', () => {
    const minutes = [
      aMinute(0, { published: 9 }),
      aMinute(1, { published: 4, succeeded: 1 }),
      aMinute(2, { failed: 2 }),
    ]

    expect(openAfter(slotsOf([{ type: 'a', minutes }], at(0), at(2)), 10)).toEqual([9, 12, 10])
  })
})

describe('numbers', () => {
  it.each([
    [0, '0'],
    [0.04, '0'],
    [0.44, '0.4'],
    [12.6, '13'],
    [1_204, '1,204'],
  ])('a rate of %d reads %s', (value, text) => {
    expect(rate(value)).toBe(text)
  })

  it.each([
    [0, '$0.00'],
    [0.000_042_1, '$0.000042'],
    [0.004, '$0.0040'],
    [1.266, '$1.27'],
    [1_204, '$1,204'],
  ])('an amount of %d reads %s', (value, text) => {
    expect(usd(value)).toBe(text)
  })
})
