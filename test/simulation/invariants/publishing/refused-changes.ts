import type { HistoryEvent } from '../../world/history.ts'
import type { SeenHead } from '../../world/seen-head.ts'
import { START } from '../../world/world.ts'
import type { Invariant } from '../invariant.ts'

/** Promises about changes by callers that are refused. */
export const REFUSED_CHANGE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a change is refused as finished only if its task was not open at some time since the caller asked for it',
    watch: () => {
      /** The tasks that are open, each with the time since which they have been open. */
      const openSince = new Map<string, number>()
      const setState = ({ id, state }: SeenHead, at: number) => {
        if (state !== 'open') openSince.delete(id)
        else if (!openSince.has(id)) openSince.set(id, at)
      }
      return {
        on: event => {
          if (event.what === 'write') setState(event.after, event.at)
          const refused = event.what === 'answer' ? refusedAsFinished(event) : undefined
          if (!refused) return undefined
          const since = openSince.get(refused.id) ?? Number.POSITIVE_INFINITY
          return since < START + refused.at
            ? `a ${refused.do} is refused as finished, although ${refused.id} is open`
            : undefined
        },
      }
    },
  },
]

type Answered = Extract<HistoryEvent, { readonly what: 'answer' }>

function refusedAsFinished({ step, answer }: Answered) {
  return !answer.ok && answer.reason === 'finished' && 'id' in step ? step : undefined
}
