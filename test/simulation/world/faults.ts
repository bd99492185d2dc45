import type { Change } from '../../../shared/core/change/change.ts'
import { BatonError } from '../../../shared/core/errors.ts'
import { splitTaskId } from '../../../shared/core/task/task.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import type { Scenario } from '../scenario.ts'

/** How the keys begin of tasks that are at fault in the trial about them, each in a way of its own. */
export const FAULTY_KEY_PREFIXES = {
  /** The table refuses their claims for what they would write. */
  claims: 'refuses-claims',
  /** It refuses every write of them but the first. */
  writes: 'refuses-writes',
  /** Nobody can read their heads. */
  heads: 'spoilt',
} as const

export function isFaulty({ trial }: Pick<Scenario, 'trial'>, id: string): boolean {
  return trial === 'faults' && Object.values(FAULTY_KEY_PREFIXES).some(kind => isOf(kind, id))
}

function isOf(kind: string, id: string): boolean {
  return splitTaskId(id)?.key.startsWith(kind) ?? false
}

/** The store as it is with the faults of a scenario's tasks. */
export function withFaults(scenario: Scenario, store: TaskStore): TaskStore {
  if (scenario.trial !== 'faults') return store
  const isSpoilt = (id: string) => isOf(FAULTY_KEY_PREFIXES.heads, id)
  return {
    ...store,
    head: async id => {
      if (isSpoilt(id)) throw new BatonError('unreadable', `what is stored of ${id} cannot be read`)
      return store.head(id)
    },
    heads: ids => store.heads(ids.filter(id => !isSpoilt(id))),
    apply: async change => {
      if (isRefused(change)) throw new BatonError('unstorable', `the table refuses ${change.after.id}`)
      return store.apply(change)
    },
  }
}

function isRefused({ before, after }: Change): boolean {
  if (before === undefined) return false
  if (isOf(FAULTY_KEY_PREFIXES.claims, after.id)) return after.operation === 'claim'
  return isOf(FAULTY_KEY_PREFIXES.writes, after.id) || isOf(FAULTY_KEY_PREFIXES.heads, after.id)
}
