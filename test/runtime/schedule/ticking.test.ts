import { beforeEach, describe, expect, it } from 'vitest'
import { minuteOf, minutePlaceName } from '../../../shared/core/place/place.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { readTask } from '../../../shared/runtime/kernel/heads.ts'
import { listSchedules, readSchedule } from '../../../shared/runtime/schedule/read-schedules.ts'
import {
  pauseSchedule,
  putSchedule,
  removeSchedule,
  resumeSchedule,
  triggerSchedule,
} from '../../../shared/runtime/schedule/schedule.ts'
import { tickSchedule } from '../../../shared/runtime/schedule/tick-schedule.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { wakeMinuteShard } from '../../../shared/runtime/wake.ts'
import type { ScheduleWorld } from '../../support/worlds/a-schedule-world.ts'
import {
  aScheduleWorld,
  head,
  pass,
  plan,
  publishedTicks,
  put,
  SCHEDULE_ID,
} from '../../support/worlds/a-schedule-world.ts'
import { beforeWrites, noAnswer } from '../../support/worlds/memory-system.ts'

let world: ScheduleWorld
beforeEach(async () => {
  world = await aScheduleWorld(START)
})

const START = '2026-01-01T12:00:00.250Z'
const EVERY_SECOND = { kind: 'cron', cron: '* * * * * *', timezone: 'UTC' } as const
const EVERY_5_S = { kind: 'every', everyMs: 5_000 } as const
const DAILY_AT_2_30 = { kind: 'cron', cron: '30 2 * * *', timezone: 'Europe/Berlin' } as const

function at(seconds: string): string {
  return `2026-01-01T12:00:${seconds}Z`
}

describe('a schedule', () => {
  it.each([1, 2, 3])('publishes one task per tick, though %d wakers receive its look', async wakers => {
    await put(world, EVERY_SECOND)

    await pass(world, at('10.500'), wakers)

    const ticks = Array.from({ length: 10 }, (_, index) => at(`${String(index + 1).padStart(2, '0')}.000`))
    expect(await publishedTicks(world)).toEqual(ticks)
    expect(await head(world)).toMatchObject({
      dueAt: Date.parse(at('11.000')),
      operation: 'tick',
      schedule: { lastRunAt: Date.parse(at('10.000')) },
    })
  })

  it('publishes nothing before its tick', async () => {
    await put(world, EVERY_SECOND)
    const early: number[] = []
    const watched = beforeWrites(world, ({ type, dueAt }) => {
      if (type === 'resize') early.push(world.clock.now() - dueAt)
    })

    await pass(watched, at('04.000'))

    expect(early).toHaveLength(4)
    expect(early.every(ms => ms >= 0)).toBe(true)
  })

  it('gives each task the time of its tick, the body that was set, and itself as its parent', async () => {
    await put(world, EVERY_5_S, { task: { type: 'resize', input: { n: 1 }, priority: 7, userId: 'u1' } })

    await pass(world, at('06.000'))

    expect(await readTask(world, `resize:s@${at('05.250')}`)).toMatchObject({
      dueAt: Date.parse(at('05.250')),
      input: { inline: { n: 1 } },
      priority: 7,
      userId: 'u1',
      parentId: SCHEDULE_ID,
    })
  })

  it('ticks through both clock changes of a year, without the wall times that are skipped', async () => {
    const world = await aScheduleWorld('2026-03-27T12:00:00Z')
    await put(world, DAILY_AT_2_30)

    await pass(world, '2026-03-31T12:00:00Z')
    await world.clock.advance(Date.parse('2026-10-24T12:00:00Z') - world.clock.now())
    await pass(world, '2026-10-24T12:00:00Z')
    await pass(world, '2026-10-26T12:00:00Z')

    expect(await publishedTicks(world)).toEqual([
      '2026-03-28T01:30:00.000Z',
      '2026-03-30T00:30:00.000Z',
      '2026-03-31T00:30:00.000Z',
      '2026-10-25T00:30:00.000Z',
      '2026-10-26T01:30:00.000Z',
    ])
  })

  it('publishes a task once although a waker dies between the writes of task and head', async () => {
    await put(world, EVERY_5_S)
    const { born } = await head(world)
    const dying = beforeWrites(world, ({ operation }) => operation === 'tick' && noAnswer())
    await world.clock.advance(5_000)

    await expect(tickSchedule(dying, { id: SCHEDULE_ID, born })).rejects.toThrow('no answer')
    await tickSchedule(world, { id: SCHEDULE_ID, born })

    expect(await publishedTicks(world)).toEqual([at('05.250')])
  })

  it('that ticks once ends with its tick, and is kept for a week', async () => {
    await put(world, { kind: 'at', at: Date.parse(at('03.000')) })

    await pass(world, at('30.000'))

    expect(await publishedTicks(world)).toEqual([at('03.000')])
    expect(await head(world)).toMatchObject({
      state: 'succeeded',
      expiresAt: Date.parse(at('03.000')) + 7 * 86_400_000,
    })
    expect(await readSchedule(world, SCHEDULE_ID)).toMatchObject({ nextRunAt: undefined })
  })
})

describe('of several ticks that are due at once', () => {
  it.each([
    ['the latest alone runs', 'skip', ['2026-01-01T12:10:00.000Z']],
    [
      'the latest two run when it catches up on two',
      { catchUp: 2 },
      ['2026-01-01T12:09:00.000Z', '2026-01-01T12:10:00.000Z'],
    ],
  ] as const)('%s', async (_name, missed, run) => {
    await put(world, { kind: 'cron', cron: '* * * * *', timezone: 'UTC' }, { missed })
    await world.clock.advance(10 * 60_000)

    await pass(world, '2026-01-01T12:10:30.000Z')

    expect(await publishedTicks(world)).toEqual(run)
  })
})

describe('a pause', () => {
  it('publishes nothing, and the schedule continues without the ticks that fell into it', async () => {
    await put(world, EVERY_SECOND)
    await pass(world, at('02.500'))

    await pauseSchedule(world, SCHEDULE_ID)
    await pass(world, at('20.500'))
    const during = await publishedTicks(world)
    await resumeSchedule(world, SCHEDULE_ID)
    await pass(world, at('22.000'))

    expect(during).toEqual([at('01.000'), at('02.000')])
    expect(await publishedTicks(world)).toEqual([...during, at('21.000'), at('22.000')])
  })

  it('is caught up on when the schedule asks for that', async () => {
    await put(world, EVERY_SECOND, { missed: { catchUp: 2 } })
    await pauseSchedule(world, SCHEDULE_ID)
    await pass(world, at('10.500'))

    await resumeSchedule(world, SCHEDULE_ID)
    await pass(world, at('11.000'))

    expect(await publishedTicks(world)).toEqual([at('09.000'), at('10.000'), at('11.000')])
  })

  it.each([
    ['before it', '05.100', '06.000', [at('05.000')]],
    ['after it, between two pauses', '03.000', '04.000', [at('05.000')]],
    ['in it', '04.000', '06.000', []],
  ])('whose end a waker has not seen loses no tick that was due %s', async (_name, from, to, run) => {
    await put(world, { kind: 'cron', cron: '5 * * * * *', timezone: 'UTC' })
    const until = (seconds: string) => world.clock.advance(Date.parse(at(seconds)) - world.clock.now())

    await until(from)
    await pauseSchedule(world, SCHEDULE_ID)
    await until(to)
    await resumeSchedule(world, SCHEDULE_ID)
    await until('07.000')
    await pauseSchedule(world, SCHEDULE_ID)
    await until('08.000')
    await resumeSchedule(world, SCHEDULE_ID)
    const { schedule } = await head(world)
    await tickSchedule(world, { id: SCHEDULE_ID })

    expect(await publishedTicks(world)).toEqual(run)
    expect((await head(world)).schedule?.pauses).toBeUndefined()
    expect(schedule?.pauses).toHaveLength(from === '03.000' ? 1 : 2)
  })

  it('that comes while a tick is on its way is respected', async () => {
    await put(world, EVERY_5_S)
    const { born } = await head(world)
    await world.clock.advance(5_000)
    await pauseSchedule(world, SCHEDULE_ID)

    const { ticked } = await tickSchedule(world, { id: SCHEDULE_ID, born })

    expect(ticked).toBe(false)
    expect(await publishedTicks(world)).toEqual([])
  })

  it('shows no next tick, stands last in the list, and survives a new definition', async () => {
    await put(world, EVERY_5_S)
    await pauseSchedule(world, SCHEDULE_ID)
    await putSchedule(world, 'later', {
      timing: DAILY_AT_2_30,
      missed: 'skip',
      graceMs: 300_000,
      task: { type: 'resize' },
    })

    await put(world, { kind: 'every', everyMs: 7_000 })

    expect(await readSchedule(world, SCHEDULE_ID)).toMatchObject({
      head: { schedule: { paused: true } },
      nextRunAt: undefined,
    })
    expect(await listSchedules(world, { limit: 10 })).toMatchObject({
      heads: [{ head: { key: 'later' } }, { head: { key: 's' } }],
    })
  })

  it('of a schedule that has ended is refused, and of a missing schedule unknown', async () => {
    await put(world, { kind: 'at', at: Date.parse(at('01.000')) })
    await pass(world, at('02.000'))

    expect(await pauseSchedule(world, SCHEDULE_ID)).toMatchObject({ ok: false, reason: 'finished' })
    expect(await resumeSchedule(world, 'schedule:none')).toEqual({ ok: false, reason: 'unknown' })
  })
})

describe('setting a schedule again', () => {
  it('with the same definition changes nothing, not even for one that has ended', async () => {
    const once = { kind: 'at', at: Date.parse(at('01.000')) } as const
    await put(world, once)
    await pass(world, at('02.000'))
    const before = await head(world)

    const outcome = await put(world, once)

    expect(outcome.created).toBe(false)
    expect(await head(world)).toEqual(before)
  })

  it('with another task keeps its next tick', async () => {
    await put(world, EVERY_5_S)
    await world.clock.advance(2_000)

    await put(world, EVERY_5_S, { task: { type: 'resize', input: 'new' } })
    await pass(world, at('06.000'))

    expect(await readTask(world, `resize:s@${at('05.250')}`)).toMatchObject({ input: { inline: 'new' } })
  })

  it('with another timing is due by that, counted from its creation', async () => {
    await put(world, EVERY_5_S)
    await world.clock.advance(2_000)

    await put(world, { kind: 'every', everyMs: 3_000 })
    await pass(world, at('07.000'))

    expect(await publishedTicks(world)).toEqual([at('03.250'), at('06.250')])
  })

  it('with a timing that is over, or never comes, is refused', async () => {
    const rest = { missed: 'skip', graceMs: 300_000, task: { type: 'resize' } } as const

    const past = await putSchedule(world, 's', { timing: { kind: 'at', at: 1 }, ...rest })
    const never = { kind: 'cron', cron: '0 0 30 2 *', timezone: 'UTC' } as const
    const impossible = await putSchedule(world, 's', { timing: never, ...rest })

    expect(past).toMatchObject({ problems: [{ path: 'at' }] })
    expect(impossible).toMatchObject({ problems: [{ path: 'cron' }] })
    expect(await readTask(world, SCHEDULE_ID)).toBeUndefined()
  })

  it('after its removal starts a new schedule, and the old one never ticks', async () => {
    await put(world, EVERY_5_S)
    const old = await head(world)
    await world.clock.advance(1_000)
    await removeSchedule(world, SCHEDULE_ID)
    await pass(world, at('07.000'))
    const whileGone = await publishedTicks(world)

    await put(world, EVERY_5_S)
    await world.clock.advance(5_000)
    const late = await tickSchedule(world, old)

    expect(whileGone).toEqual([])
    expect(late.ticked).toBe(false)
    expect(await head(world)).toMatchObject({ dueAt: Date.parse(at('12.000')) })
  })
})

describe('what cannot be published', () => {
  it('is logged and shown, and the schedule continues until it can', async () => {
    await put(world, EVERY_5_S)
    const get = world.types.get
    const without = { ...world, types: { ...world.types, get: async () => undefined } }

    await pass(without, at('06.000'))
    const shown = await head(world)
    await pass({ ...world, types: { ...world.types, get } }, at('11.000'))

    expect(world.errors).toEqual(['the task of a tick was refused and is not published'])
    expect(shown).toMatchObject({ error: { name: 'UnknownType' }, dueAt: Date.parse(at('10.250')) })
    expect(shown.schedule?.lastRunAt).toBeUndefined()
    expect(await publishedTicks(world)).toEqual([at('10.250')])
    expect((await head(world)).error).toBeUndefined()
  })

  it('because the store refuses one task for good does not stop the schedule, which shows why', async () => {
    await put(world, EVERY_5_S)
    const refusing = beforeWrites(world, ({ type }) => {
      if (type === 'resize') throw new BatonError('unstorable', 'the table refuses it')
    })

    await pass(refusing, at('06.000'))
    const shown = await head(world)
    await pass(world, at('11.000'))

    const error = { name: 'Refused', message: 'the table refuses it' }
    expect(shown).toMatchObject({ error, dueAt: Date.parse(at('10.250')) })
    expect(await publishedTicks(world)).toEqual([at('10.250')])
  })

  it('because of an outage is tried again, and no tick is passed over', async () => {
    await put(world, EVERY_5_S)
    const { born } = await head(world)
    await world.clock.advance(5_000)

    const ticking = tickSchedule(beforeWrites(world, noAnswer), { id: SCHEDULE_ID, born })

    await expect(ticking).rejects.toThrow('no answer')

    expect(await head(world)).toMatchObject({ dueAt: Date.parse(at('05.250')) })
  })
})

describe('triggering a schedule', () => {
  it('publishes a task of its own at once, and leaves the ticks as they are', async () => {
    await put(world, EVERY_5_S)

    const first = await triggerSchedule(world, SCHEDULE_ID)
    const second = await triggerSchedule(world, SCHEDULE_ID)
    await pass(world, at('06.000'))

    expect(first).toMatchObject({ ok: true, task: { dueAt: Date.parse(START), parentId: SCHEDULE_ID } })
    expect(second).toMatchObject({ ok: true })
    const keys = await publishedTicks(world)
    expect(keys).toEqual([expect.stringMatching(/^now-/), expect.stringMatching(/^now-/), at('05.250')])
  })

  it('shows as its last run, even when it is paused', async () => {
    await put(world, EVERY_5_S)
    await pauseSchedule(world, SCHEDULE_ID)

    await triggerSchedule(world, SCHEDULE_ID)

    expect((await head(world)).schedule).toMatchObject({ paused: true, lastRunAt: Date.parse(START) })
  })

  it('of a missing schedule is unknown, and of a type that is gone refused', async () => {
    await put(world, EVERY_5_S)
    const types = { ...world.types, get: async () => undefined }

    expect(await triggerSchedule(world, 'schedule:none')).toEqual({ ok: false, reason: 'unknown' })
    expect(await triggerSchedule({ ...world, types }, SCHEDULE_ID)).toMatchObject({
      reason: 'refused',
      outcome: { reason: 'unknown-type' },
    })
  })
})

describe('a schedule that is due far ahead', () => {
  it('a tick waits for its minute, whose EventBridge schedule then wakes it', async () => {
    const dueAt = Date.parse('2027-01-01T00:00:00Z')
    await put(world, { kind: 'cron', cron: '0 0 1 1 *', timezone: 'UTC' })
    const { place, shard } = await head(world)

    await plan(world)
    await world.clock.advance(dueAt - 120_000 - world.clock.now())
    const [name = '', minute, minuteShard] = place?.name.split('#') ?? []
    await wakeMinuteShard(
      world,
      { minute: Number(minute), shard: Number(minuteShard) },
      Number.POSITIVE_INFINITY,
    )

    expect(shard).toBeLessThan(4)
    expect(name).toBe('minute')
    expect(place?.name).toBe(minutePlaceName(minuteOf(dueAt), Number(minuteShard)))
    expect([...world.timers.minutes]).toEqual([minuteOf(dueAt)])
    expect(world.messages.looks).toMatchObject([{ id: SCHEDULE_ID, delaySeconds: 120 }])
    expect(world.messages.dispatches).toEqual([])
  })

  it('a paused schedule leaves its minute', async () => {
    await put(world, DAILY_AT_2_30)

    await pauseSchedule(world, SCHEDULE_ID)
    await plan(world)

    expect((await head(world)).place).toBeUndefined()
    expect([...world.timers.minutes]).toEqual([])
  })
})

describe('the sweeper', () => {
  it('leaves paused schedules alone, but renews what they publish', async () => {
    const input = 'x'.repeat(300)
    await put(world, EVERY_5_S, { task: { type: 'resize', input } })
    await pauseSchedule(world, SCHEDULE_ID)
    for (let day = 0; day < 100; day++) {
      await world.clock.advance(86_400_000)
      for (let round = 0; round < 10; round++) await sweep(world)
    }

    const found = await readSchedule(world, SCHEDULE_ID)

    expect(found?.task.input).toBe(input)
    expect(world.messages.looks).toEqual([])
    const body = (await head(world)).input
    expect(body && 'ref' in body && body.expiresAt).toBeGreaterThan(world.clock.now() + 6 * 86_400_000)
  })
})
