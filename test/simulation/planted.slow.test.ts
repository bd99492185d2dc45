import { describe, expect, it } from 'vitest'
import { generate } from './generate/generate.ts'
import { PLANTED_FAULTS } from './planted/planted.ts'
import { simulate } from './simulate/simulate.ts'

/** The invariants must notice each fault within this many seeds, or they would not find it in time. */
const SEEDS = 200

describe('the invariants notice that', () => {
  it.each(PLANTED_FAULTS.map(planted => [planted.name, planted] as const))(
    '%s',
    { timeout: 600_000 },
    async (_name, planted) => {
      let seed = 1
      while (seed <= SEEDS && !(await simulate(generate(seed, planted.needs), { planted })).broken) seed += 1

      expect(seed, 'seeds until it is noticed').toBeLessThanOrEqual(SEEDS)
    },
  )
})
