import { SCHEDULE_GRACE_MS_MIN } from '../../../../../shared/core/bounds.ts'
import { aScenario, aType, type Trial } from '../trial.ts'

const MINUTE_MS = 60_000

/** One service is out at a tick, and comes back shortly before the grace of the schedule is over. */
export const lateTicks: Trial = (dice, seed) => {
  const type = aType('lambda')
  const putAt = dice.between(100, 20_000)
  const everyMs = dice.between(4 * MINUTE_MS, 14 * MINUTE_MS)
  const graceMs = SCHEDULE_GRACE_MS_MIN + dice.between(0, MINUTE_MS)
  const from = putAt + everyMs - dice.between(1_000, 10_000)
  const ms = graceMs - dice.between(20_000, 110_000)
  return aScenario(seed, {
    trial: 'late-ticks',
    calmAt: from + ms + 1_000,
    outages: [{ service: dice.pick(['table', 'functions'] as const), from, ms }],
    types: [type],
    steps: [
      {
        do: 'put-schedule',
        at: putAt,
        schedule: 's1',
        timing: { kind: 'every', everyMs },
        missed: 'skip',
        graceMs,
        job: { type: type.type, nonce: 1, acts: [], padding: 0 },
      },
    ],
  })
}
