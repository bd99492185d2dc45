import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dueTicks, type OwedTicks, type Ticks, ticksAt, ticksEvery } from '../../../shared/core/schedule.ts'
import { cronTicks } from '../../../shared/cron/cron-ticks.ts'

const ANCHOR = 1_000_000
const SECOND = 1_000

describe('ticks of an interval', () => {
  it('begin one interval after the anchor', () => {
    const { next } = ticksEvery(5_000, ANCHOR)

    expect([0, ANCHOR, ANCHOR + 4_999, ANCHOR + 5_000].map(next)).toEqual([
      ANCHOR + 5_000,
      ANCHOR + 5_000,
      ANCHOR + 5_000,
      ANCHOR + 10_000,
    ])
  })

  it('are the same when computed forwards and backwards', () => {
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

        expect(ticks.last?.(count, from, from + span)).toEqual(count === 0 ? [] : all.slice(-count))
        expect(all.every(tick => tick > 0 && tick % every === 0)).toBe(true)
      }),
    )
  })
})

describe('what a schedule owes', () => {
  const ticks = ticksEvery(20 * SECOND, 0)
  const now = 605 * SECOND
  const skip = { missed: 'skip', graceMs: 180 * SECOND } as const
  const catchUp = (count: number) => ({ missed: { catchUp: count }, graceMs: 180 * SECOND })
  const pause = (from: number, to: number) => ({ from: from * SECOND, to: to * SECOND })

  it.each<[string, Omit<OwedTicks, 'from'> & { readonly from: number }, number[]]>([
    ['its one tick', { ...skip, from: 600 }, [600]],
    ['the latest of several, and none of a burst', { ...skip, from: 400 }, [600]],
    ['the latest two, when it catches up on two', { ...catchUp(2), from: 400 }, [580, 600]],
    ['all of them, when it catches up on more', { ...catchUp(9), from: 560 }, [560, 580, 600]],
    ['the latest, which is due after the pause', { ...skip, from: 560, pauses: [pause(550, 590)] }, [600]],
    ['nothing, when the latest fell into a pause', { ...skip, from: 560, pauses: [pause(590, 603)] }, []],
    ['nothing earlier instead of it', { ...skip, from: 580, pauses: [pause(595, 603)] }, []],
    ['one that was due before the pause', { ...skip, from: 600, pauses: [pause(601, 603)] }, [600]],
    ['one between two pauses', { ...skip, from: 600, pauses: [pause(590, 599), pause(601, 603)] }, [600]],
    ['one at the end of a pause', { ...skip, from: 600, pauses: [pause(590, 600)] }, [600]],
    ['none at the beginning of a pause', { ...skip, from: 600, pauses: [pause(600, 603)] }, []],
    [
      'what fell into a pause, when it catches up',
      { ...catchUp(1), from: 580, pauses: [pause(570, 604)] },
      [600],
    ],
    [
      'nothing in a pause whose end a wrong clock recorded too late',
      { ...skip, from: 600, pauses: [pause(590, 900)] },
      [],
    ],
  ])('is %s', (_name, due, seconds) => {
    const { publish, next } = dueTicks(ticks, { ...due, from: due.from * SECOND }, now)

    expect(publish).toEqual(seconds.map(second => second * SECOND))
    expect(next).toBe(620 * SECOND)
  })

  it.each<[OwedTicks['missed'], number, boolean]>([
    ['skip', 0, true],
    ['skip', 61, true],
    ['skip', 300, true],
    ['skip', 300.001, false],
    [{ catchUp: 1 }, 300.001, true],
    [{ catchUp: 1 }, 7 * 86_400, true],
  ])('with %j of a monthly tick that is %d s late: %s', (missed, late, runs) => {
    const monthly = cronTicks('0 3 1 * *', 'UTC')
    const tick = Date.UTC(2026, 5, 1, 3)

    const due = dueTicks(monthly, { from: tick, missed, graceMs: 300 * SECOND }, tick + late * SECOND)

    expect(due).toEqual({ publish: runs ? [tick] : [], next: Date.UTC(2026, 6, 1, 3) })
  })

  /** In Berlin 02:30 is skipped on 29 March, and comes twice on 25 October: at 00:30 and 01:30 UTC. */
  it.each<[string, OwedTicks['missed'], string, string, string[], string]>([
    [
      'on the day before',
      'skip',
      '2026-03-28T01:30',
      '2026-03-28T01:34',
      ['2026-03-28T01:30'],
      '2026-03-30T00:30',
    ],
    ['on the day that skips it', 'skip', '2026-03-28T01:30', '2026-03-29T01:00', [], '2026-03-30T00:30'],
    [
      'two days of one tick',
      { catchUp: 3 },
      '2026-03-28T01:30',
      '2026-03-30T00:30',
      ['2026-03-28T01:30', '2026-03-30T00:30'],
      '2026-03-31T00:30',
    ],
    [
      'when it comes first',
      'skip',
      '2026-10-25T00:30',
      '2026-10-25T00:30',
      ['2026-10-25T00:30'],
      '2026-10-26T01:30',
    ],
    ['when it comes again', 'skip', '2026-10-25T00:30', '2026-10-25T01:30', [], '2026-10-26T01:30'],
    [
      'when it comes again, and is caught up on',
      { catchUp: 2 },
      '2026-10-25T00:30',
      '2026-10-25T01:30',
      ['2026-10-25T00:30'],
      '2026-10-26T01:30',
    ],
  ])('through a clock change: %s', (_name, missed, from, now, publish, next) => {
    const at = (minute: string) => Date.parse(`${minute}:00.000Z`)

    const due = dueTicks(
      cronTicks('30 2 * * *', 'Europe/Berlin'),
      { from: at(from), missed, graceMs: 300 * SECOND },
      at(now),
    )

    expect(due).toEqual({ publish: publish.map(at), next: at(next) })
  })

  const clockChanges = [
    ['UTC', '2026-10-25T00:59:58.000Z'],
    ['Europe/Berlin', '2026-03-29T00:59:58.000Z'],
    ['Europe/Berlin', '2026-10-25T00:59:58.000Z'],
    ['Australia/Lord_Howe', '2026-04-04T14:59:58.000Z'],
  ] as const

  function expectTheLatest(ticks: Ticks, start: number, late: number, count: number): void {
    const from = ticks.next(start) ?? Number.NaN
    const now = from + late
    const all: number[] = []
    for (let tick = from; tick <= now; tick = ticks.next(tick) ?? Number.NaN) all.push(tick)

    const skipped = dueTicks(ticks, { from, ...skip }, now)
    const caughtUp = dueTicks(ticks, { from, ...catchUp(count) }, now)

    expect(skipped.publish).toEqual(all.slice(-1))
    expect(caughtUp.publish).toEqual(all.slice(-count))
  }

  it('is the latest of a few ticks, at every millisecond', () => {
    const cases = fc.record({
      change: fc.constantFrom(...clockChanges),
      cron: fc.constantFrom('*/7 * * * * *', '0 */30 * * * *'),
      late: fc.integer({ min: 0, max: 30_000 }),
      count: fc.integer({ min: 1, max: 4 }),
    })

    fc.assert(
      fc.property(cases, ({ change: [zone, start], cron, late, count }) => {
        expectTheLatest(cronTicks(cron, zone), Date.parse(start), late, count)
      }),
      { numRuns: 20 },
    )
  })

  it('is the latest of many ticks, too', () => {
    const start = Date.parse('2026-10-25T00:59:00.000Z')

    expectTheLatest(cronTicks('* * * * * *', 'Europe/Berlin'), start, 45_678, 3)
    expectTheLatest(ticksEvery(1_700, start), start, 45_678, 30)
  })

  it('is nothing after the only tick of a schedule for one time', () => {
    const at = 600 * SECOND
    const once = ticksAt(at)
    const hourLater = now + 3_600 * SECOND

    expect(dueTicks(once, { ...skip, from: at }, now)).toEqual({ publish: [at], next: undefined })
    expect(dueTicks(once, { ...skip, from: at }, hourLater).publish).toEqual([])
    expect(dueTicks(once, { ...catchUp(1), from: at }, hourLater).publish).toEqual([at])
  })
})
