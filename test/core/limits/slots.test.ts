import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  bookedSlots,
  decideReservation,
  isBookedAhead,
  isUsable,
  nextSlot,
  reserveSlots,
  type SlotLog,
} from '../../../shared/core/limits/slots.ts'
import type { Slot } from '../../../shared/core/task/wait.ts'
import { NOW } from '../../support/tasks/a-task.ts'

const FIFTY = { limit: 50, perMs: 1_000 }

/** The times of `count` slots, from now. */
function slotTimes(rate: typeof FIFTY, count: number, log?: SlotLog): number[] {
  return reserveSlots(log, rate, NOW, { count }).slots.map(({ at }) => at - NOW)
}

/** The most starts in any span of the period. */
function mostIn(starts: readonly number[], perMs: number): number {
  const sorted = starts.toSorted((a, b) => a - b)
  return Math.max(0, ...sorted.map(start => sorted.filter(at => at >= start && at < start + perMs).length))
}

type Asked = { readonly afterMs: number; readonly count: number }

/** The starts of callers that ask at these times. Every second start is as late as it may be. */
function startsOf(rate: typeof FIFTY, requests: readonly Asked[], onlyNow: boolean): number[] {
  let log: SlotLog | undefined
  let now = NOW
  return requests.flatMap(({ afterMs, count }, nth) => {
    now += afterMs
    const slots: Array<Slot | undefined> = []
    if (isBookedAhead(log, rate, now)) {
      slots.push(...bookedSlots(log, rate, now, { from: log.bookedAhead, count }))
      log = { ...log, bookedAhead: log.bookedAhead + count }
    } else {
      const reserved = reserveSlots(log, rate, now, { count, onlyNow: onlyNow && nth % 2 === 0 })
      slots.push(...reserved.slots)
      log = reserved.log
    }
    expect(slots).not.toContain(undefined)
    return slots.flatMap((slot, which) => (slot && which % 2 === 0 ? latest(slot, rate) : (slot?.at ?? [])))
  })
}

function latest(slot: Slot, rate: typeof FIFTY): number {
  let start = slot.at
  while (isUsable(slot, rate, start + 1)) start += 1
  return start
}

describe('slots under a rate limit', () => {
  it('are granted at once up to the limit, and then a period later, at most four hundredths more', () => {
    const slots = slotTimes(FIFTY, 151)

    expect(slots.slice(0, 50)).toEqual(Array(50).fill(0))
    for (const [nth, period] of [
      [50, 1],
      [100, 2],
      [150, 3],
    ] as const) {
      expect(slots[nth]).toBeGreaterThan(period * 1_000)
      expect(slots[nth]).toBeLessThanOrEqual(period * 1_050)
    }
  })

  it('follow the reserved slots, and are never closer than the limit allows', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 60 })

    expect(nextSlot(log, FIFTY, NOW)).toBeGreaterThan(NOW + 1_000)
    expect(reserveSlots(log, FIFTY, NOW, { count: 5, onlyNow: true }).slots).toEqual([])
    expect(nextSlot(undefined, FIFTY, NOW)).toBe(NOW)
  })

  it('that must begin at once are at most the free ones', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 48 })

    const { slots } = reserveSlots(log, FIFTY, NOW, { count: 5, onlyNow: true })

    expect(slots.map(({ at }) => at)).toEqual([NOW, NOW])
  })

  it('allow a start up to three hundredths of the period late, never early, and never under another limit', () => {
    const [slot] = reserveSlots(undefined, FIFTY, NOW, { count: 1 }).slots
    if (!slot) throw new Error('no slot')

    expect(isUsable(slot, FIFTY, NOW - 1)).toBe(false)
    expect(isUsable(slot, FIFTY, NOW)).toBe(true)
    expect(isUsable(slot, FIFTY, NOW + 30)).toBe(true)
    expect(isUsable(slot, FIFTY, NOW + 40)).toBe(false)
    expect(isUsable(slot, { ...FIFTY, limit: 51 }, NOW)).toBe(false)
  })

  it('that were reserved under another limit are void, except those that have begun', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 500 })

    const faster = reserveSlots(log, { limit: 200, perMs: 1_000 }, NOW, { count: 151 })

    expect(faster.slots.slice(0, 150).map(({ at }) => at)).toEqual(Array(150).fill(NOW))
    expect(faster.slots[150]?.at).toBeGreaterThan(NOW + 1_000)
  })

  it('that are booked ahead lie one period after the slot that is `limit` before them', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 60 })

    const counted = bookedSlots(log, FIFTY, NOW, { from: 0, count: 200 })

    expect(isBookedAhead(log, FIFTY, NOW)).toBe(true)
    expect(counted).toEqual(reserveSlots(log, FIFTY, NOW, { count: 200 }).slots)
    expect(reserveSlots({ ...log, bookedAhead: 200 }, FIFTY, NOW, { count: 1 }).slots[0]).toEqual(
      reserveSlots(log, FIFTY, NOW, { count: 201 }).slots[200],
    )
  })

  it('take the same time to compute however many are booked ahead', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 60 })
    const perPeriod = 1_040
    const periods = 2 ** 28

    const near = nextSlot({ ...log, bookedAhead: 50 }, FIFTY, NOW)
    const far = nextSlot({ ...log, bookedAhead: 50 * (periods + 1) }, FIFTY, NOW)

    expect(far - near).toBe(periods * perPeriod)
  })

  it('that were booked ahead and have begun bind under another limit, too', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 60 })
    const counted = { ...log, bookedAhead: 5_000 }

    for (const later of [500, 1_100, 2_500, 20_000, 40_000]) {
      const now = NOW + later
      const begun = bookedSlots(log, FIFTY, NOW, { from: 0, count: 5_000 }).filter(
        slot => slot && slot.at <= now && slot.at > now - 1_000,
      )
      const { slots } = reserveSlots(counted, { limit: 200, perMs: 1_000 }, now, {
        count: 200,
        onlyNow: true,
      })

      expect(slots.length).toBeLessThanOrEqual(200 - begun.length)
      expect(slots.length).toBeGreaterThanOrEqual(100)
    }
  })

  it('that were booked ahead and have passed are void', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 60 })

    expect(bookedSlots(log, FIFTY, NOW + 5_000, { from: 0, count: 1 })).toEqual([undefined])
    expect(isBookedAhead(log, FIFTY, NOW + 5_000)).toBe(false)
  })

  it('keep their log within two write units, whatever the limit', () => {
    const rate = { limit: 100_000, perMs: 60_000 }
    let log: SlotLog | undefined
    for (let nth = 0; nth < 400; nth++) log = reserveSlots(log, rate, NOW + nth * 150, { count: 100 }).log

    expect(JSON.stringify(log?.counts.flat()).length).toBeLessThan(2_000)
    expect(log?.counts.length).toBeLessThanOrEqual(105)
  })

  it('never exceed the limit in any span of the period, as late as they may be, and lose little', () => {
    const asking = fc.array(
      fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), count: fc.integer({ min: 1, max: 9 }) }),
      { minLength: 5, maxLength: 60 },
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(100, 250, 1_000, 3_700),
        asking,
        fc.boolean(),
        (limit, perMs, requests, onlyNow) => {
          const starts = startsOf({ limit, perMs }, requests, onlyNow)

          expect(mostIn(starts, perMs)).toBeLessThanOrEqual(limit)
        },
      ),
      { numRuns: 200 },
    )
  })
})

describe('a process that reserves slots', () => {
  const full = reserveSlots(undefined, FIFTY, NOW, { count: 50 }).log
  const ahead = reserveSlots(undefined, FIFTY, NOW, { count: 100 }).log
  const nextAfter = (log: SlotLog) => nextSlot(log, FIFTY, NOW)

  it.each([
    [
      'books ahead, while all near slots are taken',
      ahead,
      { onlyFree: 0, anyTime: 2 },
      { kind: 'book-ahead', log: ahead },
    ],
    [
      'books ahead for callers that accept any time, not for the others',
      ahead,
      { onlyFree: 3, anyTime: 1 },
      { kind: 'book-ahead' },
    ],
    [
      'writes nothing, when no slot is free for callers that want one',
      ahead,
      { onlyFree: 2, anyTime: 0 },
      { kind: 'none-free', notBefore: nextAfter(ahead) },
    ],
    [
      'writes nothing, when the log is just full',
      full,
      { onlyFree: 1, anyTime: 0 },
      { kind: 'none-free', notBefore: nextAfter(full) },
    ],
    [
      'writes the log, when slots are free',
      undefined,
      { onlyFree: 1, anyTime: 1 },
      { kind: 'write-log', notBefore: undefined },
    ],
  ] as const)('%s', (_case, log, asked, expected) => {
    expect(decideReservation(log, FIFTY, NOW, asked)).toMatchObject(expected)
  })

  it('gives the free slots to callers that take no others, and says when to ask again', () => {
    const { log } = reserveSlots(undefined, FIFTY, NOW, { count: 48 })

    const decided = decideReservation(log, FIFTY, NOW, { onlyFree: 3, anyTime: 2 })

    if (decided.kind !== 'write-log') throw new Error(decided.kind)
    expect(decided.free.map(({ at }) => at)).toEqual([NOW, NOW])
    expect(decided.anyTime.every(({ at }) => at > NOW + 1_000)).toBe(true)
    expect(decided.notBefore).toBe(nextSlot(decided.log, FIFTY, NOW))
  })
})
