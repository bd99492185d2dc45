import { aScenario, aType, type Trial } from '../trial.ts'

/** One service is out for so long that a schedule misses dozens of ticks. Afterwards it catches up on the latest ones. */
export const missedTicks: Trial = (dice, seed) => {
  const type = aType('lambda')
  const putAt = dice.between(100, 5_000)
  const everyMs = dice.between(1_000, 2_500)
  const from = putAt + 3 * everyMs
  const ms = everyMs * dice.between(25, 45)
  return aScenario(seed, {
    trial: 'missed-ticks',
    calmAt: from + ms + 1_000,
    outages: [{ service: dice.pick(['table', 'functions'] as const), from, ms }],
    types: [type],
    steps: [
      {
        do: 'put-schedule',
        at: putAt,
        schedule: 's1',
        timing: { kind: 'every', everyMs },
        missed: { catchUp: dice.between(2, 40) },
        graceMs: 300_000,
        job: { type: type.type, nonce: 1, acts: [], padding: 0 },
      },
      { do: 'remove-schedule', at: from + ms + 100_000, schedule: 's1' },
    ],
  })
}
