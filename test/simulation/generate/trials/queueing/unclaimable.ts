import type { Step, WorkerSetup } from '../../../scenario.ts'
import { aScenario, aType, type Trial, workersOf } from '../trial.ts'

/** The run that holds the only permit ends later than the only new worker leaves. */
const FIRST_RUN_MS = 6_000
const LEAVES_AT_MS = 5_000
const AWAY_MS = 60_000

/** The tasks at the front of a line need a new worker, which leaves before they get a permit. Old workers wait for those behind. */
export const unclaimable: Trial = (dice, seed) => {
  const type = aType('workers', { limits: { concurrency: { max: 1 } } })
  const needing = dice.between(1, 3)
  const count = needing + dice.between(4, 7)
  const publishes = Array.from({ length: count }, (_, nth): Step => {
    const needsNew = nth >= 1 && nth <= needing
    return {
      do: 'publish',
      at: 500 + 60 * nth + (nth > needing ? 2_000 : 0),
      nonce: nth,
      request: {
        type: type.type,
        key: `k${nth}`,
        ...(needsNew && { options: { minWorkerVersion: '9.0' } }),
      },
      acts: [{ ms: nth === 0 ? FIRST_RUN_MS : dice.between(300, 1_200), end: 'succeed' }],
      padding: 0,
    }
  })
  const [first, ...others] = workersOf(type, 3, 4)
  const old = others.map(worker => ({ ...worker, version: '1.0' }))
  const fresh: WorkerSetup[] = first ? [{ ...first, version: '9.0' }] : []
  return aScenario(seed, {
    trial: 'unclaimable',
    calmAt: LEAVES_AT_MS + AWAY_MS + 5_000,
    types: [type],
    workers: [...fresh, ...old],
    steps: [
      ...publishes,
      ...fresh.map(
        ({ workerId }): Step => ({
          ...{ do: 'stop-worker', at: LEAVES_AT_MS, workerId, drainMs: 0, backAfterMs: AWAY_MS },
        }),
      ),
    ].sort((a, b) => a.at - b.at),
  })
}
