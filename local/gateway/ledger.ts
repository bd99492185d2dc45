import { addedUp, type Usage } from './usage.ts'

/** Sums of what tasks and types have used. A task has its id, `type:key`, and a type its name. */
export type Ledger = {
  /** Charges a usage to its owners in equal shares. Without owners nothing is noted: the usage is the system's own. */
  charge(owners: readonly string[], usage: Partial<Usage>): void
  /** The usage of one task; undefined when it has used nothing, or when `TASKS_KEPT` others have used something since. */
  ofTask(id: string): Usage | undefined
  /** The usage of each type: that of its tasks, and what was done for the type as a whole. */
  types(): ReadonlyMap<string, Usage>
  hasType(name: string): boolean
}

/** Keeps the 5,000 tasks that used something last: some 2 MB. */
const TASKS_KEPT = 5_000
/** Keeps the 1,000 types that used something last. A message of a user may name any type. */
const TYPES_KEPT = 1_000

export function createLedger(tasksKept = TASKS_KEPT): Ledger {
  const tasks = new Map<string, Usage>()
  const types = new Map<string, Usage>()
  return {
    charge: (owners, usage) => {
      const share = shareOf(usage, owners.length)
      for (const owner of owners) {
        const type = typeOf(owner)
        addTo(types, type, share, TYPES_KEPT)
        if (type !== owner) addTo(tasks, owner, share, tasksKept)
      }
    },
    ofTask: id => tasks.get(id),
    types: () => types,
    hasType: name => types.has(name),
  }
}

/** The type of a task, or the type itself. */
function typeOf(owner: string): string {
  return owner.split(':', 1)[0] ?? owner
}

/** Adds to the sum of a name, which becomes the last one to be forgotten. */
function addTo(sums: Map<string, Usage>, name: string, share: Partial<Usage>, kept: number): void {
  const sum = addedUp(sums.get(name), share)
  sums.delete(name)
  sums.set(name, sum)
  const [oldest] = sums.keys()
  if (sums.size > kept && oldest !== undefined) sums.delete(oldest)
}

function shareOf(usage: Partial<Usage>, parts: number): Partial<Usage> {
  if (parts === 1) return usage
  return Object.fromEntries(Object.entries(usage).map(([name, amount]) => [name, amount / parts]))
}
