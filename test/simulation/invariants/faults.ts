import { FAULTY_KEY_PREFIXES, isFaulty } from '../world/faults.ts'
import type { Invariant } from './invariant.ts'

/** Promises about tasks at fault: what the table refuses to write of them, or cannot be read. */
export const FAULT_INVARIANTS: readonly Invariant[] = [
  {
    name: "one task's failed write harms no other",
    watch: scenario => ({
      atEnd: heads => {
        if (scenario.trial !== 'faults') return undefined
        const harmed = heads.find(({ id, state }) => !isFaulty(scenario, id) && state !== 'succeeded')
        return harmed && `${harmed.id} is ${harmed.state}, though nothing is wrong with it`
      },
    }),
  },
  {
    name: 'a task whose claims are refused has failed, and says why',
    watch: scenario => ({
      atEnd: heads => {
        if (scenario.trial !== 'faults') return undefined
        const refused = heads.filter(({ key }) => key.startsWith(FAULTY_KEY_PREFIXES.claims))
        const silent = refused.find(
          ({ state, error }) => state !== 'failed' || error?.name !== 'ClaimRefused',
        )
        return silent && `${silent.id} is ${silent.state} with the error ${silent.error?.name}`
      },
    }),
  },
]
