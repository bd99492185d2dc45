import { expect, it } from 'vitest'
import { reportOf } from './report/report.ts'
import { playSeeds } from './simulate/play-seeds.ts'

const SEEDS = 100
const TIMEOUT_MS = 600_000

it(
  'a nightly schedule loses no tick to one lost message, nor to an outage of one service that is shorter than its grace',
  async () => {
    const { seeds, broken } = await playSeeds({ from: 1, count: SEEDS, only: 'nightly' })

    const [first] = broken
    if (first) expect.fail(await reportOf(first, { only: 'nightly' }))
    expect(seeds).toBe(SEEDS)
  },
  TIMEOUT_MS,
)
