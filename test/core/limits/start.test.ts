import { describe, expect, it } from 'vitest'
import type { ReservedSlot } from '../../../shared/core/limits/slots.ts'
import { claimableFrom, startTime, usableSlots } from '../../../shared/core/limits/slots.ts'
import { NOW, SECOND } from '../../support/tasks/a-task.ts'

/** Under this limit a start may be 40 ms late at most. */
const RATE = { name: 'resize', limit: { limit: 50, perMs: SECOND } }
const SLOWER = { name: 'order', limit: { limit: 5, perMs: SECOND } }

const reservedAt = (afterMs: number, limited = RATE): ReservedSlot => ({
  limited,
  slot: { at: NOW + afterMs, rateText: `${limited.limit.limit}/${limited.limit.perMs}` },
})

describe('a claim with reserved slots', () => {
  it.each([
    ['waits until 250 ms before its slot', [reservedAt(999)], false, NOW + 749],
    ['waits until 100 ms before its slot, if it takes permits', [reservedAt(999)], true, NOW + 899],
    [
      'waits for the last of several, to its time',
      [reservedAt(999), reservedAt(20, SLOWER)],
      false,
      NOW + 999,
    ],
  ] as const)('%s', (_case, slots, takesPermits, until) => {
    expect(claimableFrom(slots, takesPermits)).toBe(until)
  })

  it('does not wait without a slot', () => {
    expect(claimableFrom([], false)).toBeLessThan(NOW)
  })

  it.each([
    ['can use a slot that is ahead, and starts there', [reservedAt(200)], 1, NOW + 200],
    ['can use a slot that has begun, and starts now', [reservedAt(-20)], 1, NOW],
    ['has missed a slot that is more than 40 ms old', [reservedAt(-50)], 0, NOW],
    ['has missed one that passes before the last', [reservedAt(0), reservedAt(50, SLOWER)], 1, NOW + 50],
    ['can use all slots at one time', [reservedAt(0), reservedAt(10, SLOWER)], 2, NOW + 10],
  ] as const)('%s', (_case, slots, usable, at) => {
    expect(usableSlots(slots, NOW)).toHaveLength(usable)
    expect(startTime(slots, NOW)).toBe(at)
  })
})
