import { describe, expect, it } from 'vitest'
import { itemSize } from '../../../local/gateway/item-size.ts'
import { permitCost, scaleWarnings } from '../../../shared/core/limits/scale-warnings.ts'

/** The item of a limit as it is stored while all its permits are held. */
function permitsItem(holders: number) {
  const held = Array.from({ length: holders }, (_, nth) => [
    `h~${String(nth).padStart(10, 'A')}`,
    { M: { of: { S: 'x'.repeat(33) }, at: { N: '1795362000000' } } },
  ])
  return {
    pk: { S: 'permits#resize' },
    sk: { S: 'permits' },
    v: { N: '1' },
    ttl: { N: '1800000000' },
    count: { N: String(holders) },
    waits: { N: '1795362000000' },
    ...Object.fromEntries(held),
  }
}

describe('the cost of a concurrency limit', () => {
  it.each([
    { max: 3, unitsPerRun: 2, startsPerSecond: 500 },
    { max: 10, unitsPerRun: 2, startsPerSecond: 500 },
    { max: 50, unitsPerRun: 8, startsPerSecond: 125 },
    { max: 100, unitsPerRun: 14, startsPerSecond: 71 },
    { max: 350, unitsPerRun: 44, startsPerSecond: 22 },
  ])('of $max runs is $unitsPerRun units a run, $startsPerSecond starts a second', ({ max, ...cost }) => {
    expect(permitCost(max)).toEqual(cost)
    expect(Math.ceil(itemSize(permitsItem(max)) / 1_024) * 2).toBe(cost.unitsPerRun)
  })

  it('is stated in a warning with its numbers, where the limit slows its type down', () => {
    const warned = (max: number, key?: string) =>
      scaleWarnings({ limits: { concurrency: { max, ...(key !== undefined && { key }) } } })

    expect(scaleWarnings({})).toEqual([])
    expect(scaleWarnings({ limits: { rate: { limit: 1, perMs: 1_000 } } })).toEqual([])
    expect(warned(30)).toEqual([])
    expect(warned(350)).toEqual([
      'limits.concurrency.max 350 costs 44 write units a run and allows at most 22 starts per second; see docs/scale.md',
    ])
    expect(warned(100, 'shop')[0]).toContain('71 starts per second for each value of shop')
  })
})
