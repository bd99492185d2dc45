import type { Task } from '../../../../shared/core/task/task.ts'
import type { Invariant } from '../invariant.ts'
import { claimIn } from '../pieces.ts'

/**
 * A task that was dispatched and found no permit is dispatched again after 4 s, and after 8 s if it lost twice. Meanwhile others may
 * overtake it.
 */
const OVERTAKEN_MS_MAX = 16_000

/** Promises about the order in which tasks of a line start. */
export const LINE_ORDER_INVARIANTS: readonly Invariant[] = [
  {
    name: 'where nothing goes wrong, no task starts long before an older one that waits in the line of its limit',
    watch: ({ trial, weather, types }) => {
      const isOrdered = types.every(({ ordering, servedBy }) => !ordering && servedBy === 'lambda')
      const isCalm = Object.values(weather).every(share => share === 0)
      if (trial !== 'many-permits' || !isOrdered || !isCalm) return {}
      /** Since when tasks wait for a permit, and when they were due. */
      const waiting = new Map<string, { readonly since: number; readonly dueAt: number }>()
      return {
        on: event => {
          if (event.what !== 'write') return undefined
          const { id, state, wait, dueAt } = event.after as Task
          if (state !== 'open' || wait === undefined) waiting.delete(id)
          else waiting.set(id, { since: waiting.get(id)?.since ?? event.at, dueAt })
          if (!claimIn(event)) return undefined
          const older = [...waiting].find(
            ([, one]) => Math.max(one.since, one.dueAt) + OVERTAKEN_MS_MAX < dueAt,
          )
          return (
            older && `${id}, due at ${dueAt}, starts before ${older[0]}, which was due at ${older[1].dueAt}`
          )
        },
      }
    },
  },
]
