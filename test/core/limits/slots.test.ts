import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  freeSlots,
  isUsable,
  nextSlot,
  reserveSlots,
  type SlotLog,
  withoutSlots,
} from '../../../shared/core/limits/slots.ts'
import type { Slot } from '../../../shared/core/task/task.ts'
import { NOW } from '../../support/tasks/a-task.ts'

const FIFTY = { limit: 50, perMs: 1_000 }
const ANY_MS = 86_400_000

/** `count` reservations at `now`, each at most `waitMs` ahead. */
function reserved(rate: typeof FIFTY, count: number, log?: SlotLog, { now = NOW, waitMs = ANY_MS } = {}) {
  const { slots, ...rest } = reserveSlots(log, rate, now, Array<{ waitMs: number }>(count).fill({ waitMs }))
  return { ...rest, asked: slots, slots: slots.flatMap(slot => slot ?? []) }
}

/** The most starts in any span of the period. */
function mostIn(starts: readonly number[], perMs: number): number {
  const sorted = starts.toSorted((a, b) => a - b)
  return Math.max(0, ...sorted.map(start => sorted.filter(at => at >= start && at < start + perMs).length))
}

function latest(slot: Slot, rate: typeof FIFTY): number {
  let start = slot.at
  while (isUsable(slot, rate, start + 1)) start += 1
  return start
}

describe('slots under a rate limit', () => {
  it('are granted at once up to the limit, and then a period later, at most four hundredths more', () => {
    const slots = reserved(FIFTY, 151).slots.map(({ at }) => at - NOW)

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

  it('are granted only as near as a request can wait, and say when the next one is free', () => {
    const { log } = reserved(FIFTY, 48)

    const near = reserved(FIFTY, 5, log, { waitMs: 0 })

    expect(near.asked.map(slot => slot && slot.at - NOW)).toEqual([0, 0, undefined, undefined, undefined])
    expect(near.notBefore).toBe(nextSlot(near.log, FIFTY, NOW))
    expect(near.notBefore).toBeGreaterThan(NOW + 1_000)
    expect(nextSlot(undefined, FIFTY, NOW)).toBe(NOW)
  })

  it('go to those requests first that can wait the shortest', () => {
    const { log } = reserved(FIFTY, 49)

    const { slots } = reserveSlots(log, FIFTY, NOW, [{ waitMs: 7_500 }, { waitMs: 0 }])

    expect(slots[1]?.at).toBe(NOW)
    expect(slots[0]?.at).toBeGreaterThan(NOW + 1_000)
  })

  it('lie after the time from which a request can use them', () => {
    const { slots } = reserveSlots(undefined, FIFTY, NOW, [{ waitMs: 2_000, from: NOW + 700 }])

    expect(slots[0]?.at).toBe(NOW + 700)
  })

  it('that were given back are granted again, and no more than those', () => {
    const { log, slots } = reserved(FIFTY, 60)
    const returned = withoutSlots(log, FIFTY, slots.slice(55), NOW)
    const again = reserved(FIFTY, 60, returned)

    expect([log.granted, returned.granted]).toEqual([60, 55])
    expect(again.slots[0]?.at).toBe(slots[55]?.at)
    expect(withoutSlots(returned, FIFTY, slots.slice(55), NOW).granted).toBeGreaterThanOrEqual(50)
  })

  it('are counted up to a time, with the times of the first one and of the one after them', () => {
    const { log } = reserved(FIFTY, 50)
    const free = freeSlots(log, FIFTY, NOW, { until: NOW + 2_000, most: 1_000 })

    expect(free.count).toBe(50)
    expect(free.firstAt).toBe(NOW + 1_040)
    expect(free.nextAt).toBeGreaterThan(NOW + 2_000)
    expect(freeSlots(undefined, FIFTY, NOW, { until: NOW, most: 7 })).toEqual({
      ...{ count: 7, firstAt: NOW, nextAt: NOW },
    })
  })

  it('allow a start up to three hundredths of the period late, never early, and never under another limit', () => {
    const [slot] = reserved(FIFTY, 1).slots
    if (!slot) throw new Error('no slot')

    expect(isUsable(slot, FIFTY, NOW - 1)).toBe(false)
    expect(isUsable(slot, FIFTY, NOW)).toBe(true)
    expect(isUsable(slot, FIFTY, NOW + 30)).toBe(true)
    expect(isUsable(slot, FIFTY, NOW + 40)).toBe(false)
    expect(isUsable(slot, { ...FIFTY, limit: 51 }, NOW)).toBe(false)
  })

  it('that were reserved under another limit are void, except those that have begun', () => {
    const { log } = reserved(FIFTY, 100)

    const faster = reserved({ limit: 200, perMs: 1_000 }, 151, log)

    expect(faster.slots.slice(0, 150).map(({ at }) => at)).toEqual(Array(150).fill(NOW))
    expect(faster.slots[150]?.at).toBeGreaterThan(NOW + 1_000)
  })

  it('keep their log within two write units, whatever the limit', () => {
    const rate = { limit: 100_000, perMs: 60_000 }
    let log: SlotLog | undefined
    for (let nth = 0; nth < 400; nth++) log = reserved(rate, 100, log, { now: NOW + nth * 150 }).log

    expect(JSON.stringify(log?.counts.flat()).length).toBeLessThan(2_000)
    expect(log?.counts.length).toBeLessThanOrEqual(105)
  })

  it('never exceed the limit in any span of the period: used late, given back later, by clocks that differ', () => {
    const asking = fc.array(
      fc.record({
        afterMs: fc.integer({ min: 0, max: 700 }),
        skewMs: fc.integer({ min: -600, max: 600 }),
        count: fc.integer({ min: 0, max: 9 }),
        waitMs: fc.constantFrom(0, 500, 2_000, 7_500),
        returned: fc.integer({ min: 0, max: 3 }),
      }),
      { minLength: 5, maxLength: 60 },
    )
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.constantFrom(100, 250, 1_000, 3_700),
        asking,
        (limit, perMs, requests) => {
          const rate = { limit, perMs }
          let [log, time]: [SlotLog | undefined, number] = [undefined, NOW]
          let slots: Slot[] = []
          for (const { afterMs, skewMs, count, waitMs, returned } of requests) {
            time += afterMs
            const now = time + skewMs
            const back = slots.slice(0, returned)
            slots = slots.slice(returned)
            const rest = log && withoutSlots(log, rate, back, now)
            const granted = reserved(rate, count, rest, { now, waitMs })
            log = granted.log
            slots = [...granted.slots, ...slots]
          }
          const starts = slots.map((slot, nth) => (nth % 2 === 0 ? latest(slot, rate) : slot.at))

          expect(mostIn(starts, perMs)).toBeLessThanOrEqual(limit)
        },
      ),
      { numRuns: 400 },
    )
  })
})
