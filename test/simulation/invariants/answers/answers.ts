import type { Scenario } from '../../scenario.ts'
import type { Invariant } from '../invariant.ts'
import { EVENT_INVARIANTS } from './events.ts'
import { LIST_INVARIANTS } from './lists.ts'
import { REFUSED_REQUEST_INVARIANTS } from './refused-requests.ts'
import { SHOWN_TASK_INVARIANTS } from './shown-tasks.ts'
import { beginSightings } from './sightings.ts'
import { STATISTIC_INVARIANTS } from './statistics.ts'
import { STORED_ERROR_INVARIANTS } from './stored-errors.ts'
import { STORED_RESULT_INVARIANTS } from './stored-results.ts'
import { STUCK_INVARIANTS } from './stuck.ts'
import { WHY_INVARIANTS } from './why.ts'

const SERVED = [200, 404]

const OF_READERS: readonly Invariant[] = [
  {
    name: 'the API answers readers as its published schemas say',
    watch: scenario => {
      const sightings = beginSightings(scenario)
      return {
        on: event => {
          sightings.see(event)
          if (event.what !== 'read') return undefined
          const { operation, status, misfit, body } = event
          if (!SERVED.includes(status) && scenario.trial !== 'faults')
            return `${operation} is answered ${status}: ${JSON.stringify(body)}`
          return misfit === undefined ? undefined : `the answer to ${operation} does not fit: ${misfit}`
        },
      }
    },
  },
  ...WHY_INVARIANTS,
  ...STUCK_INVARIANTS,
  ...SHOWN_TASK_INVARIANTS,
  ...LIST_INVARIANTS,
  ...STATISTIC_INVARIANTS,
  ...EVENT_INVARIANTS,
  ...STORED_ERROR_INVARIANTS,
  ...STORED_RESULT_INVARIANTS,
]

/**
 * Promises about what the API shows to readers, and about events. `sightings.ts` keeps what the world knows, and each
 * answer must be true of some moment between its question and its arrival.
 */
export const ANSWER_INVARIANTS: readonly Invariant[] = [
  ...OF_READERS.map(invariant => onlyFor(isOfReaders, invariant)),
  ...REFUSED_REQUEST_INVARIANTS.map(invariant => onlyFor(({ trial }) => trial === 'requests', invariant)),
]

/** Readers do not see damaged heads, of which the index entries remain. */
function isOfReaders({ hasReaders, trial }: Scenario): boolean {
  return hasReaders === true && trial !== 'damaged-heads'
}

/** The invariant for some scenarios only. It then costs the others nothing. */
function onlyFor(isJudged: (scenario: Scenario) => boolean, { name, watch }: Invariant): Invariant {
  return { name, watch: scenario => (isJudged(scenario) ? watch(scenario) : {}) }
}
