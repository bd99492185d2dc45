import { FAULTY_KEY_PREFIXES, isFaulty } from '../world/faults.ts'
import type { Invariant } from './invariant.ts'

/** Promises about faulty tasks, whose writes the table refuses or whose heads cannot be read. */
export const FAULT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a task whose writes fail harms no other task',
    watch: scenario => ({
      atEnd: heads => {
        if (scenario.trial !== 'faults') return undefined
        const harmed = heads.find(({ id, state }) => !isFaulty(scenario, id) && state !== 'succeeded')
        return harmed && `${harmed.id} is ${harmed.state}, although it is not faulty`
      },
    }),
  },
  {
    name: 'a task whose claims are refused ends as failed with the error ClaimRefused',
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
