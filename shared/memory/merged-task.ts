import type { Change } from '../core/change.ts'
import type { Task } from '../core/task.ts'

type Members = Readonly<Record<string, unknown>>

/** Maps whose entries are written one by one, with the depth at which a heartbeat and another write may meet. */
const MAP_LEVELS: Readonly<Record<string, number>> = { live: 2, ended: 1, failuresBy: 1 }

/**
 * What stands after a change was written onto `stored`: what differs between `before` and `after` is as in `after`,
 * all else stays, for a heartbeat may have landed since `before` was read. As heartbeats bump no revision, other
 * writes state what those may have changed (operation and place) in any case.
 */
export function mergedTask(stored: Task, { before, after, guard }: Change): Task {
  const merged = merge(stored, before ?? {}, after, name => MAP_LEVELS[name] ?? 0) as Task
  if (guard.kind === 'counted') {
    const { operation, updatedAt } = after
    return { ...merged, operation, updatedAt, revision: stored.revision + 1 }
  }
  if (after.operation === 'beat') return { ...merged, operation: 'beat' }
  const { place: _place, ...rest } = merged
  return { ...rest, operation: after.operation, ...(after.place && { place: after.place }) }
}

function merge(
  stored: Members,
  before: Members,
  after: Members,
  levelsOf: (name: string) => number,
): Members {
  const names = new Set([...Object.keys(stored), ...Object.keys(before), ...Object.keys(after)])
  const members = [...names].map(name => {
    const [was, from, to] = [stored, before, after].map(members => ownMember(members, name))
    const levels = levelsOf(name)
    if (levels > 0 && isMap(was) && isMap(from) && isMap(to)) {
      return [name, merge(was, from, to, () => levels - 1)] as const
    }
    return [name, JSON.stringify(from) === JSON.stringify(to) ? was : to] as const
  })
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

function isMap(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A worker may be called `__proto__`. */
function ownMember(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}
