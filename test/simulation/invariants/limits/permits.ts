import { liveRuns } from '../../../../shared/core/task/task.ts'
import type { Scenario } from '../../scenario.ts'
import type { HistoryEvent } from '../../world/history.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'

const RELEASED_WITHIN_MS = 10_000
/** How long freezes and slow calls last that began in bad weather. */
const AFTERMATH_MS = 60_000

/** Promises about the permits of concurrency limits, and about tasks that wait for one. */
export const PERMIT_INVARIANTS: readonly Invariant[] = [
  {
    name: 'once it is calm, the permit of a lost run is released within seconds',
    watch: scenario => {
      const isCalm = calmFrom(scenario)
      /** Since when permits of lost runs are still held, by limit and holder. */
      const owed = new Map<string, number>()
      return {
        on: event => {
          const { at } = event
          if (event.what === 'permit') owed.delete(`${event.limit} ${event.holder}`)
          if (isCalm(at)) for (const name of permitsOfLostRuns(event)) owed.set(name, at)
          for (const [name, since] of owed) {
            if (at - since <= RELEASED_WITHIN_MS) break
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

/** The permits of runs that the waker has recorded as ended. In calm weather the waker releases them. */
function permitsOfLostRuns(event: HistoryEvent): string[] {
  if (event.what !== 'write' || !event.by.startsWith('waker') || !event.before) return []
  const { before, after } = event
  return liveRuns(before)
    .filter(({ fence }) => !after.live[fence])
    .flatMap(({ permits = [] }) => permits.map(({ limit, holder }) => `${limit} ${holder}`))
}
