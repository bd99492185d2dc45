import type { Change } from '../../../shared/core/change.ts'
import { splitTaskId } from '../../../shared/core/task/task.ts'
import { BatonError } from '../../../shared/core/values/values.ts'
import type { TaskStore } from '../../../shared/ports/stores.ts'
import type { Scenario } from '../scenario.ts'

/** The prefixes of the keys of faulty tasks in the trial `faults`: one prefix for each kind of fault. */
export const FAULTY_KEY_PREFIXES = {
  /** The table refuses the content of their claims. */
  claims: 'refuses-claims',
  /** The table refuses every write except the first. */
  writes: 'refuses-writes',
  /** Their heads cannot be read. */
  heads: 'spoilt',
} as const

export function isFaulty({ trial }: Pick<Scenario, 'trial'>, id: string): boolean {
  return trial === 'faults' && Object.values(FAULTY_KEY_PREFIXES).some(kind => isOf(kind, id))
}

function isOf(kind: string, id: string): boolean {
  return splitTaskId(id)?.key.startsWith(kind) ?? false
}

/** The store with the faults of the scenario's faulty tasks. */
export function withFaults(scenario: Scenario, store: TaskStore): TaskStore {
  if (scenario.trial !== 'faults') return store
  const isUnreadable = (id: string) => isOf(FAULTY_KEY_PREFIXES.heads, id)
  return {
    ...store,
    head: async id => {
      if (isUnreadable(id)) throw new BatonError('unreadable', `what is stored of ${id} cannot be read`)
      return store.head(id)
    },
    heads: ids => store.heads(ids.filter(id => !isUnreadable(id))),
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
