import type { Scenario } from '../../scenario.ts'
import type { Invariant, Write } from '../invariant.ts'
import { claimIn } from '../pieces.ts'

/** How long a heartbeat takes from its decision to its write in calm weather. */
const BEAT_MS_MAX = 100

/** Promises about the leases of runs. */
export const LEASE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a heartbeat renews a run by the lease that it was claimed with, whatever a patch has set since',
    watch: scenario => {
      if (!isCalm(scenario)) return {}
      const leases = new Map<string, number>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const run = claimIn(event)
          if (run) leases.set(`${event.after.born} ${run.fence}`, event.after.options.leaseMs)
          if (event.after.operation !== 'beat') return undefined
          const wrong = renewedIn(event).find(({ fence, leaseUntil }) => {
            const leaseMs = leases.get(`${event.after.born} ${fence}`) ?? 0
            const renewedMs = leaseUntil - event.clock
            return renewedMs > leaseMs + 1 || renewedMs < leaseMs - BEAT_MS_MAX
          })
          return (
            wrong &&
            `run ${wrong.fence} of ${event.after.id} is renewed by ${wrong.leaseUntil - event.clock} ms`
          )
        },
      }
    },
  },
]

function renewedIn({ before, after }: Write) {
  return Object.values(after.live).filter(
    ({ fence, leaseUntil }) => (before?.live[fence]?.leaseUntil ?? leaseUntil) < leaseUntil,
  )
}

function isCalm({ weather, outages }: Scenario): boolean {
  return !outages && Object.values(weather).every(share => share === 0)
}
