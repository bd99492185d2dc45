import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cronProblem, cronTicks } from '../../shared/cron/cron-ticks.ts'
import { createWallClock, isTimezone } from '../../shared/cron/wall-clock.ts'

const DAY = 86_400_000

function first(count: number, { cron, zone, from }: { cron: string; zone: string; from: string }): string[] {
  const ticks = cronTicks(cron, zone)
  const found: string[] = []
  let tick: number | undefined = Date.parse(from)
  while (found.length < count && tick !== undefined) {
    tick = ticks.next(tick)
    if (tick !== undefined) found.push(new Date(tick).toISOString())
  }
  return found
}

describe('a clock change in Europe/Berlin', () => {
  const zone = 'Europe/Berlin'

  it.each([
    ['to come', '2026-03-27T12:00:00Z', ['2026-03-28T01:30', '2026-03-30T00:30', '2026-03-31T00:30']],
    ['that is over', '2026-03-29T12:00:00Z', ['2026-03-30T00:30', '2026-03-31T00:30', '2026-04-01T00:30']],
  ])('that skips 02:30 leaves that day out: %s', (_name, from, minutes) => {
    expect(first(3, { cron: '30 2 * * *', zone, from })).toEqual(minutes.map(text => `${text}:00.000Z`))
  })

  it.each([
    [
      'that repeats 02:30 ticks once, the first time',
      { zone, from: '2026-10-24T12:00:00Z' },
      ['2026-10-25T00:30', '2026-10-26T01:30', '2026-10-27T01:30'],
    ],
    [
      'changes nothing for an expression in UTC',
      { zone: 'UTC', from: '2026-03-28T12:00:00Z' },
      ['2026-03-29T02:30', '2026-03-30T02:30'],
    ],
  ])('%s', (_what, given, minutes) => {
    const found = first(minutes.length, { cron: '30 2 * * *', ...given })

    expect(found).toEqual(minutes.map(text => `${text}:00.000Z`))
  })

  it('that repeats an hour ticks at none of its half hours and seconds twice', () => {
    const halves = first(4, { cron: '*/30 * * * *', zone, from: '2026-10-25T00:00:00Z' })
    const seconds = first(4, { cron: '*/20 30 2 * * *', zone, from: '2026-10-25T00:00:00Z' })

    expect(halves.map(text => text.slice(11, 16))).toEqual(['00:30', '02:00', '02:30', '03:00'])
    expect(seconds).toEqual([
      '2026-10-25T00:30:00.000Z',
      '2026-10-25T00:30:20.000Z',
      '2026-10-25T00:30:40.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
  })

  it('that skips an hour continues with the hour after it', () => {
    const found = first(3, { cron: '0 * * * *', zone, from: '2026-03-28T23:30:00Z' })

    expect(found.map(text => text.slice(11, 16))).toEqual(['00:00', '01:00', '02:00'])
  })
})

/** Days around clock changes, by an hour, by half an hour, at midnight, and far from any. */
const CHANGES = [
  ['Europe/Berlin', '2026-03-29T01:00:00Z'],
  ['Europe/Berlin', '2026-10-25T01:00:00Z'],
  ['America/New_York', '2026-11-01T06:00:00Z'],
  ['Australia/Lord_Howe', '2026-04-04T15:00:00Z'],
  ['Australia/Lord_Howe', '2026-10-03T15:30:00Z'],
  ['America/Sao_Paulo', '2018-11-04T03:00:00Z'],
  ['Africa/Casablanca', '2026-02-15T02:00:00Z'],
  ['Asia/Kolkata', '2026-06-01T00:00:00Z'],
] as const

const crons = fc
  .tuple(
    fc.constantFrom('*', '0', '*/30', '15,45', '5-10'),
    fc.constantFrom('*', '*/2', '0', '2', '1-3', '23', '0-3/3'),
    fc.constantFrom('*', '29', '25-31', '1'),
    fc.constant('*'),
    fc.constantFrom('*', '0', '6,0', 'MON-FRI'),
  )
  .map(fields => fields.join(' '))

/** The ticks, found minute by minute: the wall time fits the expression, and was not shown before. */
function byHand(cron: string, zone: string, from: number, to: number): number[] {
  const pattern = new Cron(cron, { timezone: 'UTC', paused: true })
  const clock = createWallClock(zone)
  const shown = new Set<number>()
  const found: number[] = []
  for (let time = from - DAY / 4; time < to; time += 60_000) {
    const wall = clock.at(time)
    if (!shown.has(wall) && pattern.match(new Date(wall)) && time >= from) found.push(time)
    shown.add(wall)
  }
  return found
}

describe('ticks of any cron expression around any clock change', () => {
  const cases = fc.record({
    cron: crons,
    change: fc.constantFrom(...CHANGES),
    before: fc.integer({ min: 0, max: 8 * 60 }),
    after: fc.integer({ min: 0, max: 30 * 60 }),
  })

  it('are those minutes whose wall time fits and is shown for the first time', () => {
    fc.assert(
      fc.property(cases, ({ cron, change: [zone, at], before, after }) => {
        const from = Date.parse(at) - before * 60_000
        const to = Date.parse(at) + after * 60_000
        const expected = byHand(cron, zone, from, to)
        const ticks = cronTicks(cron, zone)

        const found: number[] = []
        let tick = ticks.next(from - 1)
        while (tick !== undefined && tick < to) {
          found.push(tick)
          tick = ticks.next(tick)
        }

        expect(found).toEqual(expected)
        expect(ticks.last?.(1_000, from, to)).toEqual(expected.slice(-1_000))
        expect(ticks.last?.(3, from, to)).toEqual(expected.slice(-3))
      }),
      { numRuns: 60 },
    )
  })

  it('increase, and no two of them have the same wall time', () => {
    fc.assert(
      fc.property(cases, ({ cron, change: [zone, at], before }) => {
        const ticks = cronTicks(cron, zone)
        const clock = createWallClock(zone)
        let last = Date.parse(at) - before * 60_000
        const walls: number[] = []

        for (let count = 0; count < 50; count++) {
          const tick = ticks.next(last) ?? Number.NaN
          expect(tick).toBeGreaterThan(last)
          walls.push(clock.at(tick))
          last = tick
        }

        expect(new Set(walls).size).toBe(walls.length)
      }),
      { numRuns: 60 },
    )
  })
})

describe('a cron expression', () => {
  it.each([
    '* * * * *',
    '*/5 * * * * *',
    '0 0 * * MON-FRI',
    '0 12 L * *',
    '0 9 * * 1#2',
    '0 0 29 2 *',
    '0 8,20 1-7 JAN-MAR *',
  ])('can be read: %s', cron => {
    expect(cronProblem(cron)).toBeUndefined()
  })

  it.each([
    '',
    '* * * *',
    '* * * * * * *',
    '0 0 0 1 1 * 2030',
    '@daily',
    '60 * * * *',
    '* 24 * * *',
    '*/0 * * * *',
    'a b c d e',
    '0 0 0 * * 8 *',
    '5-1 * * * *',
  ])('is refused with what would be legal: %s', cron => {
    expect(cronProblem(cron)).toMatch(/5 fields .* or 6 with seconds first/)
  })

  it('that never occurs has no tick', () => {
    expect(cronTicks('0 0 30 2 *', 'UTC').next(Date.UTC(2026, 0, 1))).toBeUndefined()
  })
})

describe('a time zone', () => {
  it.each([
    ['Europe/Berlin', true],
    ['UTC', true],
    ['Asia/Kathmandu', true],
    ['Mars/Olympus', false],
    ['+02:00', false],
    ['', false],
  ])('%s: %s', (name, isOne) => {
    expect(isTimezone(name)).toBe(isOne)
  })
})
