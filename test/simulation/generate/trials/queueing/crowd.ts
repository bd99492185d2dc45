import type { Act, ServedBy } from '../../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

const SERVED_BY: readonly ServedBy[] = ['lambda', 'lambda', 'http', 'workers']
/** The most workers on the task. Workers that poll take simulation time, so there are fewer of them. */
const WORKERS_MAX = { lambda: 100, http: 24, workers: 24 } as const
/** About the time from the claim of one worker to the claim of the next one. */
const CLAIM_MS = 130

/** Many workers run one task, and their runs end at about the same moment. */
export const crowd: Trial = (dice, seed) => {
  const servedBy = dice.pick(SERVED_BY)
  const most = WORKERS_MAX[servedBy]
  const count = dice.odds(0.15) ? most : dice.between(Math.floor(most / 4), Math.floor(most / 2))
  const type = aType(servedBy)
  const at = dice.between(1_000, 3_000)
  const until = at + count * CLAIM_MS + dice.between(2_000, 6_000)
  const spreadMs = dice.pick([0, 0, 50, 500])
  const acts: Act[] = Array.from({ length: count }, () => ({
    ms: 10,
    end: 'succeed',
    until: until + dice.between(0, spreadMs),
  }))
  return aScenario(seed, {
    trial: 'crowd',
    calmAt: until,
    types: [type],
    workers: workersOf(type, count),
    conditions: { executors: count + 10 },
    steps: [
      {
        do: 'publish',
        at,
        nonce: 1,
        request: {
          type: type.type,
          key: 'k1',
          options: {
            concurrency: count,
            leaseMs: dice.between(4_000, 10_000),
            heartbeatMs: dice.between(1_000, 2_000),
            retry: { maxRetries: 3, delayMs: 100 },
          },
        },
        acts,
        padding: 0,
      },
    ],
  })
}
