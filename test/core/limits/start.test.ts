import { describe, expect, it } from 'vitest'
import {
  areUsable,
  claimableFrom,
  decideOnNewSlot,
  decideOnWrittenSlot,
  decideStart,
  decideWait,
  missingSlots,
  type ReservedSlot,
  usableSlot,
} from '../../../shared/core/limits/start.ts'
import type { Task } from '../../../shared/core/task/task.ts'
import { aTask, NOW, SECOND } from '../../support/tasks/a-task.ts'

/** Under this limit a start may be 40 ms late at most. */
const RATE = { name: 'resize', limit: { limit: 50, perMs: SECOND } }
const SLOWER = { name: 'order', limit: { limit: 5, perMs: SECOND } }

const slotAt = (afterMs: number) => ({ at: NOW + afterMs, rateText: '50/1000' })
const reservedAt = (afterMs: number, limited = RATE): ReservedSlot => ({
  limited,
  slot: { at: NOW + afterMs, rateText: `${limited.limit.limit}/${limited.limit.perMs}` },
})
const waitingFor = (afterMs: number, parts: object = {}): Task => ({
  ...aTask(),
  wait: { kind: 'slot', limit: 'resize', ...slotAt(afterMs), ...parts },
})

describe('a claim of a task with a written slot', () => {
  it.each([
    ['does not wait for a slot that is two seconds ahead', 2_000, false, { kind: 'far' }],
    ['waits until 250 ms before a near slot', 1_999, false, { kind: 'wait-in-place', until: NOW + 1_749 }],
    [
      'waits until 100 ms before a near slot, if it takes permits',
      1_999,
      true,
      { kind: 'wait-in-place', until: NOW + 1_899 },
    ],
    ['does not wait, when the slot has begun', -10, false, { kind: 'wait-in-place', until: NOW - 260 }],
    ['has no slot, when its slot is missed', -50, false, { kind: 'none' }],
  ] as const)('%s', (_case, afterMs, takesPermits, expected) => {
    expect(decideOnWrittenSlot(waitingFor(afterMs), [RATE], { now: NOW, takesPermits })).toMatchObject(
      expected,
    )
  })

  it.each([
    ['no slot', aTask(), [RATE]],
    ['a slot under a limit that has changed', waitingFor(100, { rateText: '9/1000' }), [RATE]],
    ['a slot under a limit that does not count it', waitingFor(100), [SLOWER]],
    ['a permit', { ...aTask(), wait: { kind: 'permit', limit: 'resize' } as const }, [RATE]],
  ])('has no usable slot, when the task waits for %s', (_what, task, rates) => {
    expect(decideOnWrittenSlot(task, rates, { now: NOW, takesPermits: false })).toEqual({ kind: 'none' })
    expect(rates.map(limited => usableSlot(task, limited, NOW + 100))).toEqual([undefined])
  })
})

describe('a worker with a new slot', () => {
  it.each([
    ['uses a slot within 250 ms', 250, false, { kind: 'use' }],
    ['waits in place for a slot after 250 ms', 251, false, { kind: 'wait-in-place', until: NOW + 1 }],
    ['waits in place for 7.5 s at most', 7_499, false, { kind: 'wait-in-place', until: NOW + 7_249 }],
    ['writes a slot after 7.5 s to the task', 7_500, false, { kind: 'write-wait' }],
    ['uses a slot that is near after the wait', 250, true, { kind: 'use' }],
    ['writes the slot to the task, when the wait ended early', 1_000, true, { kind: 'write-wait' }],
  ] as const)('%s', (_case, afterMs, hasWaited, expected) => {
    expect(decideOnNewSlot(slotAt(afterMs), { now: NOW, hasWaited })).toEqual(expected)
  })
})

describe('a claim with reserved slots', () => {
  it.each([
    ['waits until 250 ms before its slot', [reservedAt(999)], 0, { kind: 'wait-in-place', until: NOW + 749 }],
    [
      'waits for the last of several, to its time',
      [reservedAt(999), reservedAt(20, SLOWER)],
      0,
      { kind: 'wait-in-place', until: NOW + 999 },
    ],
    ['does not wait without a slot', [], 9, { kind: 'wait-in-place', until: 0 }],
    [
      'writes a slot that is a second ahead',
      [reservedAt(1_000)],
      0,
      { kind: 'write-wait', reserved: reservedAt(1_000) },
    ],
    [
      'writes the last of several',
      [reservedAt(1_000), reservedAt(20, SLOWER)],
      0,
      { kind: 'write-wait', reserved: reservedAt(1_000) },
    ],
    ['waits after four missed slots', [reservedAt(20)], 4, { kind: 'wait-in-place', until: NOW - 230 }],
    ['writes the slot after five', [reservedAt(20)], 5, { kind: 'write-wait', reserved: reservedAt(20) }],
  ] as const)('%s', (_case, slots, missed, expected) => {
    expect(decideWait(slots, NOW, missed)).toEqual(expected)
  })

  it.each([
    ['starts at its slot, if that is ahead', [reservedAt(200)], { kind: 'start', at: NOW + 200 }],
    ['starts now, if the slot has begun', [reservedAt(-20)], { kind: 'start', at: NOW }],
    ['starts now without rate limits', [], { kind: 'start', at: NOW }],
    ['has missed a slot that is more than 40 ms old', [reservedAt(-50)], { kind: 'missed' }],
    [
      'has missed one that passes before the last',
      [reservedAt(0), reservedAt(50, SLOWER)],
      { kind: 'missed' },
    ],
  ] as const)('%s', (_case, slots, expected) => {
    expect(decideStart(slots, NOW)).toEqual(expected)
  })

  it('keeps the usable slot of its task, and needs one under each other limit', () => {
    const own = reservedAt(100)

    expect(missingSlots([SLOWER, RATE], own, NOW)).toEqual({ slots: [own], missing: [SLOWER] })
    expect(missingSlots([SLOWER, RATE], own, NOW + SECOND)).toEqual({ slots: [], missing: [SLOWER, RATE] })
    expect(missingSlots([RATE], undefined, NOW)).toEqual({ slots: [], missing: [RATE] })
  })

  it('waits until its task’s slot, when it needs slots under other limits, too', () => {
    expect([claimableFrom([reservedAt(100)]), claimableFrom([reservedAt(100)], 2)]).toEqual([
      NOW - 150,
      NOW + 100,
    ])
  })

  it('uses all its slots at one time, or none', () => {
    expect(areUsable([reservedAt(0), reservedAt(10, SLOWER)], NOW + 10)).toBe(true)
    expect(areUsable([reservedAt(0), reservedAt(10, SLOWER)], NOW)).toBe(false)
  })
})
