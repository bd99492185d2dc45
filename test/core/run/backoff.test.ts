import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { DELAY_MS_MAX } from '../../../shared/core/bounds.ts'
import { DEFAULT_OPTIONS, type Retry } from '../../../shared/core/options/options.ts'
import { backoffMs } from '../../../shared/core/run/judge-budget.ts'

const retry = (parts: Partial<Retry>): Retry => ({ ...DEFAULT_OPTIONS.retry, ...parts })
const delays = (parts: Partial<Retry>, count: number) =>
  Array.from({ length: count }, (_, i) => backoffMs(retry(parts), i + 1, 0))

describe('the wait before a retry', () => {
  it.each<[string, Partial<Retry>, number[]]>([
    [
      'exponential doubles up to the maximum',
      { backoff: 'exponential', delayMs: 1_000, maxDelayMs: 10_000 },
      [1_000, 2_000, 4_000, 8_000, 10_000, 10_000],
    ],
    ['fixed stays', { backoff: 'fixed', delayMs: 700 }, [700, 700, 700]],
    ['fixed is bounded too', { backoff: 'fixed', delayMs: 700, maxDelayMs: 500 }, [500]],
    [
      'fibonacci is 1, 2, 3, 5, 8',
      { backoff: 'fibonacci', delayMs: 1_000, maxDelayMs: 60_000 },
      [1_000, 2_000, 3_000, 5_000, 8_000, 13_000],
    ],
    [
      'fibonacci ends at the maximum',
      { backoff: 'fibonacci', delayMs: 1_000, maxDelayMs: 6_000 },
      [1_000, 2_000, 3_000, 5_000, 6_000, 6_000],
    ],
    [
      'a ladder repeats its last delay and knows no maximum',
      { backoff: 'ladder', delaysMs: [15_000, 30_000, 900_000], maxDelayMs: 1_000 },
      [15_000, 30_000, 900_000, 900_000, 900_000],
    ],
    ['a ladder without delays waits delayMs', { backoff: 'ladder', delayMs: 40 }, [40, 40]],
    ['an empty ladder waits delayMs', { backoff: 'ladder', delaysMs: [], delayMs: 40 }, [40, 40]],
    ['no delay stays none', { backoff: 'exponential', delayMs: 0 }, [0, 0, 0]],
  ])('%s', (_name, parts, expected) => {
    expect(delays(parts, expected.length)).toEqual(expected)
  })

  it.each(['exponential', 'fibonacci', 'fixed', 'ladder'] as const)(
    'is a time that can be stored after any number of failures and with the longest delays (%s)',
    backoff => {
      const longest = { delayMs: DELAY_MS_MAX, maxDelayMs: DELAY_MS_MAX, delaysMs: [1e300] }
      for (const parts of [{ delayMs: 0 }, longest]) {
        for (const nth of [1, 1_000, 1_026, 100_100]) {
          const delay = backoffMs(retry({ backoff, ...parts }), nth, 0.5)
          expect([nth, Number.isInteger(delay) && delay >= 0 && delay <= DELAY_MS_MAX]).toEqual([nth, true])
        }
      }
    },
  )

  it.each([
    [0, 0, 1_000],
    [0.2, 0, 1_000],
    [0.2, 0.5, 900],
    [0.2, 1, 800],
    [1, 1, 0],
  ])('jitter %d at chance %d leaves %d of 1000', (jitter, chance, expected) => {
    expect(backoffMs(retry({ jitter }), 1, chance)).toBe(expected)
  })

  it('is always a whole number between what jitter leaves and the maximum', () => {
    const kinds = fc.constantFrom('exponential', 'fixed', 'fibonacci')
    const share = fc.double({ min: 0, max: 1, noNaN: true })
    const property = fc.property(
      kinds,
      fc.nat(100_000),
      fc.nat(1_000),
      share,
      share,
      (backoff, delayMs, n, jitter, chance) => {
        const plain = backoffMs(retry({ backoff, delayMs }), n + 1, 0)
        const jittered = backoffMs(retry({ backoff, delayMs, jitter }), n + 1, chance)

        expect(Number.isInteger(jittered)).toBe(true)
        expect(jittered).toBeGreaterThanOrEqual(Math.floor(plain * (1 - jitter)))
        expect(jittered).toBeLessThanOrEqual(plain)
        expect(plain).toBeLessThanOrEqual(60_000)
      },
    )
    fc.assert(property)
  })
})
