import {
  SCHEDULE_GRACE_MS,
  SCHEDULE_GRACE_MS_MAX,
  SCHEDULE_GRACE_MS_MIN,
} from '../../../../../shared/core/bounds.ts'
import type { Timing } from '../../../../../shared/core/task/head-fields.ts'
import type { Lost, Outage, Scenario } from '../../../scenario.ts'
import type { Dice } from '../../dice.ts'
import { aScenario, aType, type Trial } from '../trial.ts'

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
/** A tick that is at least this far away waits for its minute. A nearer one waits in a queue. */
const FAR_MS = 15 * MINUTE_MS
/** An outage loses no tick if it is this much shorter than the grace, and than the period. */
const REPAIR_MS = 2 * MINUTE_MS
/** How long it takes until a new schedule is stored and planned. */
const SET_AFTER_MS = 5_000

/**
 * One schedule with a long period, and one fault: one thing is lost, or one service is out for as long as the
 * schedule's grace allows.
 */
export const nightly: Trial = (dice, seed) => {
  const putAt = dice.between(100, MINUTE_MS)
  const waitMs = dice.odds(0.4) ? dice.between(20_000, FAR_MS) : dice.between(FAR_MS, 6 * FAR_MS)
  const tickAt = putAt + waitMs
  const graceMs = graceOf(dice)
  const isDaily = waitMs < 6 * MINUTE_MS || dice.odds(0.7)
  const timing: Timing = isDaily ? dailyAt(tickAt) : { kind: 'every', everyMs: waitMs }
  const most = Math.min(graceMs, isDaily ? DAY_MS - 1_000 : waitMs - 1_000) - REPAIR_MS
  const fault: Fault = dice.odds(0.4)
    ? { lost: somethingLost(dice, tickAt, waitMs >= FAR_MS) }
    : anOutage(dice, tickAt, putAt, most)
  const type = aType('lambda')
  return aScenario(seed, {
    trial: 'nightly',
    calmAt: Math.max(tickAt + 1_000, endOf(fault.outages)),
    ...fault,
    types: [type],
    steps: [
      {
        do: 'put-schedule',
        at: putAt,
        schedule: 's1',
        timing,
        missed: dice.odds(0.8) ? 'skip' : { catchUp: dice.between(1, 3) },
        graceMs,
        job: { type: type.type, nonce: 1, acts: [], padding: dice.odds(0.3) ? 300 : 0 },
      },
    ],
  })
}

type Fault = Pick<Scenario, 'lost' | 'outages'>

/** The grace of the schedule. Most are short, because a long outage takes long to simulate. */
function graceOf(dice: Dice): number {
  if (dice.odds(0.5)) return SCHEDULE_GRACE_MS
  if (dice.odds(0.9)) return dice.between(SCHEDULE_GRACE_MS_MIN, 60 * MINUTE_MS)
  return dice.between(60 * MINUTE_MS, SCHEDULE_GRACE_MS_MAX)
}

/** A daily timing. `tickAt` counts from the start of the scenario, which is a midnight. */
function dailyAt(tickAt: number): Timing {
  const second = Math.ceil(tickAt / 1_000)
  const cron = `${second % 60} ${Math.floor(second / 60) % 60} ${Math.floor(second / 3_600) % 24} * * *`
  return { kind: 'cron', cron, timezone: 'UTC' }
}

/**
 * What is lost. A near tick needs two messages: a look and a dispatch. A far tick needs up to eleven
 * messages: first those for its minute and for the shards of that minute.
 */
function somethingLost(dice: Dice, tickAt: number, isFar: boolean): Lost {
  const round = Math.floor(tickAt / MINUTE_MS) + dice.between(-2, 3)
  return dice.pick<() => Lost>([
    () => ({ what: 'message', nth: dice.between(1, isFar ? 11 : 2) }),
    () => ({ what: 'batch', nth: dice.between(1, 4) }),
    () => ({ what: 'minute', nth: 1 }),
    () => ({ what: 'round', nth: Math.max(1, round) }),
  ])()
}

/** An outage of one service during the tick, or during a part of what leads to it. */
function anOutage(dice: Dice, tickAt: number, putAt: number, most: number): Fault {
  const ms = dice.odds(0.5) ? most : dice.between(1_000, most)
  const least = Math.max(putAt + SET_AFTER_MS, tickAt - ms - 3 * MINUTE_MS)
  const from = dice.between(least, Math.max(least, tickAt + MINUTE_MS))
  return {
    outages: [{ service: dice.pick(['table', 'queues', 'scheduler', 'functions'] as const), from, ms }],
  }
}

function endOf(outages: readonly Outage[] = []): number {
  return Math.max(0, ...outages.map(({ from, ms }) => from + ms))
}
