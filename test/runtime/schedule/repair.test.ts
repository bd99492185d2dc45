import { describe, expect, it } from 'vitest'
import { MINUTE_LEAD_MS } from '../../../shared/core/bounds.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import { putSchedule } from '../../../shared/runtime/schedule/schedule.ts'
import { sweep } from '../../../shared/runtime/sweep/sweep.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { wakeTasks } from '../../../shared/runtime/wake.ts'
import {
  aScheduleWorld,
  head,
  plan,
  publishedTicks,
  put,
  SCHEDULE_ID,
  type ScheduleWorld,
} from '../../support/worlds/a-schedule-world.ts'

const START = '2026-01-01T12:00:00.000Z'
const MINUTE = 60_000
/** The smallest grace that can be set. */
const GRACE = 180_000

const DAILY = { kind: 'cron', cron: '0 10 12 * * *', timezone: 'UTC' } as const
const TICK = Date.parse('2026-01-01T12:10:00.000Z')

/** A daily schedule whose next tick is ten minutes away or, with `isFar`, almost a day. */
async function aDailySchedule(isFar = false): Promise<{ world: ScheduleWorld; tick: number }> {
  const world = await aScheduleWorld(START)
  if (isFar) await world.clock.advance(11 * MINUTE)
  await put(world, DAILY, { graceMs: GRACE })
  return { world, tick: isFar ? TICK + 86_400_000 : TICK }
}

/** Runs a round of the sweeper every minute from `from` on. The messages that it sends are delivered at once. */
async function sweepOn(world: ScheduleWorld, from: number, count: number): Promise<void> {
  const memory = createSweepMemory()
  await world.clock.advance(from - world.clock.now())
  for (let round = 0; round < count; round++) {
    await sweep(world, memory)
    await wakeTasks(world, world.messages.looks.splice(0))
    await world.clock.advance(MINUTE)
  }
}

const phases = Array.from({ length: 12 }, (_, index) => index * 5_000)

describe('the tick of a daily schedule', () => {
  it.each(phases)('happens though its look is lost, with the sweeper %d ms after its time', async phase => {
    const { world, tick } = await aDailySchedule()
    await plan(world)
    world.messages.looks.splice(0)

    await sweepOn(world, tick - MINUTE + phase, 4)

    expect(await publishedTicks(world)).toEqual([new Date(tick).toISOString()])
  })

  it.each(phases)(
    'happens though no planner saw the schedule, with the sweeper %d ms after its time',
    async phase => {
      const { world, tick } = await aDailySchedule(true)

      await sweepOn(world, tick - MINUTE + phase, 4)

      expect(await publishedTicks(world)).toEqual([new Date(tick).toISOString()])
    },
  )

  it('happens though its look and a round of the sweeper are lost', async () => {
    const { world, tick } = await aDailySchedule()
    await plan(world)
    world.messages.looks.splice(0)

    await sweepOn(world, tick + 122_000, 1)

    expect(await publishedTicks(world)).toEqual([new Date(tick).toISOString()])
  })

  it('happens though its minute is never woken', async () => {
    const { world, tick } = await aDailySchedule(true)
    await plan(world)
    expect(world.timers.minutes.size).toBe(1)

    await sweepOn(world, tick - MINUTE_LEAD_MS, 5)

    expect(await publishedTicks(world)).toEqual([new Date(tick).toISOString()])
  })

  it('happens while no queue takes messages', async () => {
    const { world, tick } = await aDailySchedule()
    const look = async () => {
      throw new BatonError('unavailable', 'no queue')
    }
    await world.clock.advance(tick + 10_000 - world.clock.now())

    await sweep({ ...world, messages: { ...world.messages, look, backlog: look } })

    expect(await publishedTicks(world)).toEqual([new Date(tick).toISOString()])
  })

  it('is left out once it is later than its grace', async () => {
    const { world, tick } = await aDailySchedule()

    await sweepOn(world, tick + GRACE + 1, 1)

    expect(await publishedTicks(world)).toEqual([])
    expect((await head(world)).dueAt).toBe(tick + 86_400_000)
  })
})

describe('a crowd of schedules whose messages are all lost', () => {
  const CROWD = 2_000

  it('ticks in one round, though some of it cannot tick', async () => {
    const world = await aScheduleWorld(START)
    const request = { timing: DAILY, missed: 'skip', graceMs: GRACE } as const
    for (let nth = 0; nth < CROWD; nth++) {
      const input = nth < 20 ? 'x'.repeat(1_000) : 0
      await putSchedule(world, `s${nth}`, { ...request, task: { type: 'resize', input } })
    }
    await world.clock.advance(TICK + 2_000 - world.clock.now())
    const unreadable = { ...world.tasks, body: async () => undefined }

    const report = await sweep({ ...world, tasks: unreadable })

    expect(report).toMatchObject({ examined: CROWD, repaired: CROWD - 20, failed: 20 })
    expect(await publishedTicks(world)).toHaveLength(CROWD - 20)
    expect(world.errors).toEqual(['late schedules did not tick'])
  })

  it('is not ticked before the sweeper may judge a message as lost', async () => {
    const { world, tick } = await aDailySchedule()
    await world.clock.advance(tick + 1_999 - world.clock.now())

    const report = await sweep(world)

    expect(report.repaired).toBe(0)
    expect((await world.tasks.head(SCHEDULE_ID))?.dueAt).toBe(tick)
  })
})
