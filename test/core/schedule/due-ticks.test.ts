import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dueTicks, ticksAt, ticksEvery } from '../../../shared/core/schedule/due-ticks.ts'

const ANCHOR = 1_000_000
const SECOND = 1_000

describe('ticks every so often', () => {
  test('begin one interval after the anchor', () => {
    const { next } = ticksEvery(5_000, ANCHOR)

    expect([0, ANCHOR, ANCHOR + 4_999, ANCHOR + 5_000].map(next)).toEqual([
      ANCHOR + 5_000,
      ANCHOR + 5_000,
      ANCHOR + 5_000,
      ANCHOR + 10_000,
    ])
  })

  test('are the same forwards and backwards', () => {
    const numbers = fc.record({
      every: fc.integer({ min: 1, max: 50 }),
      from: fc.integer({ min: -100, max: 300 }),
      span: fc.integer({ min: 0, max: 300 }),
      count: fc.integer({ min: 0, max: 20 }),
    })

    fc.assert(
      fc.property(numbers, ({ every, from, span, count }) => {
        const ticks = ticksEvery(every, 0)
        const all: number[] = []
        for (let tick = ticks.next(from - 1) ?? 0; tick < from + span; tick = ticks.next(tick) ?? 0) {
          all.push(tick)
        }

        expect(ticks.last(count, from, from + span)).toEqual(count === 0 ? [] : all.slice(-count))
        expect(all.every(tick => tick > 0 && tick % every === 0)).toBe(true)
      }),
    )
  })
})

describe('what a schedule owes', () => {
  const ticks = ticksEvery(20 * SECOND, 0)
  const now = 605 * SECOND

  test.each([
    ['its one tick', { from: 600 * SECOND, missed: 'skip' }, [600]],
    [
      'every tick of the last minute, but none that is older',
      { from: 400 * SECOND, missed: 'skip' },
      [560, 580, 600],
    ],
    [
      'the last of the older ones, too, when it catches up',
      { from: 400 * SECOND, missed: { catchUp: 2 } },
      [520, 540, 560, 580, 600],
    ],
    [
      'all of them when there are no more',
      { from: 520 * SECOND, missed: { catchUp: 9 } },
      [520, 540, 560, 580, 600],
    ],
    [
      'nothing that fell into a pause',
      { from: 560 * SECOND, missed: 'skip', resumedAt: 590 * SECOND },
      [600],
    ],
    [
      'the last that fell into a pause',
      { from: 560 * SECOND, missed: { catchUp: 1 }, resumedAt: 590 * SECOND },
      [580, 600],
    ],
    [
      'nothing to come, whatever a wrong clock says of the pause',
      { from: 560 * SECOND, missed: { catchUp: 1 }, resumedAt: 900 * SECOND },
      [600],
    ],
  ] as const)('%s', (_name, due, seconds) => {
    const { publish, next } = dueTicks(ticks, due, now)

    expect(publish).toEqual(seconds.map(second => second * SECOND))
    expect(next).toBe(620 * SECOND)
  })

  test('is nothing more after the one time it runs', () => {
    const once = ticksAt(600 * SECOND)

    expect(dueTicks(once, { from: 600 * SECOND, missed: 'skip' }, now)).toEqual({
      publish: [600 * SECOND],
      next: undefined,
    })
    expect(dueTicks(once, { from: 600 * SECOND, missed: 'skip' }, now + 3_600 * SECOND).publish).toEqual([])
    expect(
      dueTicks(once, { from: 600 * SECOND, missed: { catchUp: 1 } }, now + 3_600 * SECOND).publish,
    ).toEqual([600 * SECOND])
  })
})
