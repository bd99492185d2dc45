import { expect, it } from 'vitest'
import { reportOf } from './report/report.ts'
import { playSeeds } from './simulate/play-seeds.ts'

/** About as many seeds as two idle cores play in a minute. */
const SEEDS = 2_000
/** More than a minute: slower machines need longer, and so does shrinking a broken seed. */
const TIMEOUT_MS = 600_000

it(
  `the system keeps every promise in ${SEEDS} simulated runs`,
  async () => {
    const { seeds, broken } = await playSeeds({ from: 1, count: SEEDS })

    const [first] = broken
    if (first) expect.fail(await reportOf(first))
    expect(seeds).toBe(SEEDS)
  },
  TIMEOUT_MS,
)
