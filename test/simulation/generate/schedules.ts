import { SCHEDULE_GRACE_MS, SCHEDULE_GRACE_MS_MIN } from '../../../shared/core/bounds.ts'
import type { Missed, Timing } from '../../../shared/core/task/head-fields.ts'
import type { Step } from '../scenario.ts'
import type { Cast } from './cast.ts'
import type { Dice } from './dice.ts'
import { job } from './jobs.ts'

/** Periods in seconds. Each divides a minute, so that a cron expression can state it. */
const PERIODS = [5, 10, 15, 20, 30] as const
/** Long periods in seconds. A lost tick is repaired before the next one is due. */
const LONG_PERIODS = [90, 150, 240] as const
const GRACES = [SCHEDULE_GRACE_MS, SCHEDULE_GRACE_MS, SCHEDULE_GRACE_MS_MIN, 600_000] as const
const OTHERS = ['pause', 'pause', 'resume', 'resume', 'trigger', 'remove', 'put', 'read'] as const

/** Schedules that tick while the weather is bad. Operators interfere with them. */
export function scheduleSteps(dice: Dice, cast: Cast): Step[] {
  return dice.many(1, 2, index => stepsOf(dice, cast, `s${index + 1}`)).flat()
}

function stepsOf(dice: Dice, cast: Cast, schedule: string): Step[] {
  const at = dice.between(100, cast.spanMs / 2)
  const others = dice.many(0, 5, () => other(dice, cast, schedule, at))
  return [{ ...put(dice, cast, schedule), at }, ...others]
}

function other(dice: Dice, cast: Cast, schedule: string, putAt: number): Step {
  const at = putAt + dice.between(1, cast.spanMs)
  const kind = dice.pick(OTHERS)
  return kind === 'put' ? { ...put(dice, cast, schedule), at } : { at, do: `${kind}-schedule`, schedule }
}

function put(dice: Dice, cast: Cast, schedule: string) {
  return {
    do: 'put-schedule' as const,
    schedule,
    timing: timing(dice, cast),
    missed: missed(dice),
    graceMs: dice.pick(GRACES),
    job: job(dice, cast, 0),
  }
}

/** The timing of a schedule. `at` counts from the start of the scenario. */
function timing(dice: Dice, cast: Cast): Timing {
  const period = dice.pick(PERIODS)
  if (dice.odds(0.2)) return { kind: 'at', at: dice.between(1_000, cast.spanMs * 2) }
  if (dice.odds(0.25)) return { kind: 'every', everyMs: dice.pick(LONG_PERIODS) * 1_000 }
  if (dice.odds(0.5)) return { kind: 'every', everyMs: period * 1_000 + dice.between(0, 999) }
  return { kind: 'cron', cron: `*/${period} * * * * *`, timezone: dice.pick(['UTC', 'Europe/Berlin']) }
}

function missed(dice: Dice): Missed {
  return dice.odds(0.6) ? 'skip' : { catchUp: dice.between(1, 4) }
}
