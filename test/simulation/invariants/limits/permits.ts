import { liveRuns } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'

const GIVEN_BACK_WITHIN_MS = 10_000
/** Freezes and slow calls that began in bad weather go on for so long. */
const AFTERMATH_MS = 60_000

/** Promises about permits of concurrency limits, and who waits for them. */
export const PERMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'once it is calm, the permit of a lost run is given back within seconds',
    watch: scenario => {
      const isCalm = calmFrom(scenario)
      /** Since when permits of runs that are over are still held, by limit and holder. */
      const owed = new Map<string, number>()
      return {
        on: event => {
          const { at } = event
          if (event.what === 'permit') owed.delete(`${event.limit} ${event.holder}`)
          if (isCalm(at)) for (const name of leftByWaker(event)) owed.set(name, at)
          for (const [name, since] of owed) {
            if (at - since <= GIVEN_BACK_WITHIN_MS) break
            return `the permit ${name} is held ${Math.round(at - since)} ms after its run was lost`
          }
          return undefined
        },
      }
    },
  },
  {
    name: 'in the end no task waits for a permit',
    watch: () => ({
      atEnd: heads => {
        const waiting = heads.find(({ state, wait }) => state === 'open' && wait?.kind === 'permit')
        return waiting && `${waiting.id} still waits for a permit of ${JSON.stringify(waiting.wait)}`
      },
    }),
  },
]

function calmFrom({ weather, calmAt }: Scenario): (at: number) => boolean {
  const { freeze, slow, death, refused, answerLost } = weather
  const from = freeze + slow + death + refused + answerLost === 0 ? 0 : START + calmAt + AFTERMATH_MS
  return at => at >= from
}

/** Permits of runs whose end the waker has recorded: nobody takes that down when it is calm. */
function leftByWaker(event: HistoryEvent): string[] {
  if (event.what !== 'write' || !event.by.startsWith('waker') || !event.before) return []
  const { before, after } = event
  return liveRuns(before)
    .filter(({ fence }) => !after.live[fence])
    .flatMap(({ permits = [] }) => permits.map(({ limit, holder }) => `${limit} ${holder}`))
}
