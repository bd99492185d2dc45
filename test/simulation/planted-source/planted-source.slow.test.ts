import { describe, expect, it } from 'vitest'
import { replaced } from './changed-source.ts'
import { findFault, scenariosFrom } from './find-fault.ts'
import { SOURCE_FAULTS } from './source-faults.ts'

/** The simulation must find each fault within this many seeds: ordinary ones, except for the few that `needs` names. */
const SEEDS = 500

const HARMFUL = SOURCE_FAULTS.filter(({ harmless }) => harmless === undefined)

// Each fault is played in a thread of its own.
describe.concurrent('the simulation shows that', () => {
  it.each(HARMFUL.map(fault => [fault.name, fault] as const))(
    '%s',
    { timeout: 1_200_000 },
    async (_name, { replacements, needs }) => {
      const scenarios = scenariosFrom(1, SEEDS, needs)
      const found = await findFault({ changed: replaced(replacements), scenarios })

      expect(found?.scenarios, 'seeds until it is found').toBeLessThanOrEqual(SEEDS)
    },
  )
})
