import type { Invariant } from './invariant.ts'

const DAY_MS = 86_400_000
/** While its queue is empty, a task is sent some six times an hour, and behind other messages more rarely. */
const DISPATCHES_A_DAY_MAX = 200

/** Promises about how many messages a task costs that waits for days. */
export const DAILY_MESSAGE_INVARIANTS: readonly Invariant[] = [
  {
    name: 'a waiting task is sent a bounded number of times a day, however long no worker receives its messages',
    watch: () => {
      const sent = new Map<string, number[]>()
      return {
        on: event => {
          if (event.what !== 'dispatched') return undefined
          const { id, born, revision, at } = event
          const name = `${id} ${born} ${revision}`
          const times = [...(sent.get(name) ?? []), at].filter(time => time > at - DAY_MS)
          sent.set(name, times)
          return times.length > DISPATCHES_A_DAY_MAX
            ? `revision ${revision} of ${id} was sent ${times.length} times within a day`
            : undefined
        },
      }
    },
  },
]
