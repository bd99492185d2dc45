import type { Change, Guard } from '../../core/change/change.ts'
import { defined } from '../../core/defined.ts'
import type { LookRecord } from '../../core/plan/look-chain.ts'
import { type Head, isCanvas, isTask } from '../../core/task/head.ts'
import type { Place } from '../../core/task/head-fields.ts'
import type { Applied } from '../../ports/stores.ts'

/** Heads in memory, with the conditional write. */
export type MemoryHeads = {
  get(id: string): Head | undefined
  all(): Iterable<Head>
  /** Deletes the head under an id, as DynamoDB deletes an expired item. */
  drop(id: string): void
  recordLook(task: Pick<Head, 'id' | 'born' | 'revision'>, record: LookRecord, now: number): boolean
  /** Writes the head of a change without its bodies, if its guard holds. */
  write(change: Change): Applied
}

export function createMemoryHeads(): MemoryHeads {
  const heads = new Map<string, Head>()
  const looks = new Map<string, LookRecord & Pick<Head, 'born' | 'revision'>>()
  return {
    get: id => heads.get(id),
    drop: id => void heads.delete(id),
    all: () => heads.values(),
    write: change => {
      const { after, guard } = change
      const current = heads.get(after.id)
      if (!holds(guard, current)) return { applied: false, current }
      const merged = asStored(current ? mergedHead(current, change) : after)
      heads.set(after.id, merged)
      const mergesOtherWrites = after.operation === 'beat' || guard.kind === 'counted'
      return { applied: true, head: mergesOtherWrites ? merged : after }
    },
    recordLook: ({ id, born, revision }, record, now) => {
      const current = heads.get(id)
      if (current?.born !== born || current.revision !== revision) return false
      const recorded = looks.get(id)
      const isSameRevision = recorded?.born === born && recorded.revision === revision
      const isAhead = isSameRevision && recorded.hops >= record.hops && recorded.until >= now
      if (isAhead && recorded.name !== record.name) return false
      looks.set(id, { ...record, born, revision })
      heads.set(id, { ...current, operation: 'beat' })
      return true
    },
  }
}

function holds(guard: Guard, current: Head | undefined): boolean {
  const live = current && isTask(current) ? current.live : {}
  switch (guard.kind) {
    case 'absent':
      return current === undefined
    case 'revision': {
      const { born, revision, leases } = guard
      const isSeen = current?.born === born && current.revision === revision
      return isSeen && leases.every(({ fence, leaseUntil }) => live[fence]?.leaseUntil === leaseUntil)
    }
    case 'live':
    case 'counted':
      return current?.born === guard.born && live[guard.fence] !== undefined
  }
}

/** A copy as JSON text would keep it. It shares nothing with the caller's value. */
export function asStored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
}

type Members = Readonly<Record<string, unknown>>

/**
 * Maps whose entries are written one by one, down to this many levels below the map. A heartbeat and another write may then change
 * different entries of one map.
 */
const MAP_LEVELS: Readonly<Record<string, number>> = { live: 2, ended: 1, failuresBy: 1 }

/**
 * The task after a change was written onto `stored`. Members that differ between `before` and `after` are as in `after`. All others
 * stay, because a heartbeat may have landed since `before` was read. Heartbeats bump no revision, so other writes always state what
 * a heartbeat may have changed: operation and place.
 */
function mergedHead(stored: Head, { before, after, guard }: Change): Head {
  const merged = merge(stored, before ?? {}, after, name => MAP_LEVELS[name] ?? 0) as Head
  if (guard.kind === 'counted') {
    const { operation, updatedAt } = after
    return { ...merged, operation, updatedAt, revision: stored.revision + 1 }
  }
  if (after.operation === 'beat') return { ...merged, operation: 'beat' }
  return defined({ ...merged, operation: after.operation, place: placeIn(after) }) as Head
}

function placeIn(head: Head): Place | undefined {
  return isCanvas(head) ? undefined : head.place
}

function merge(
  stored: Members,
  before: Members,
  after: Members,
  levelsOf: (name: string) => number,
): Members {
  const names = new Set([...Object.keys(stored), ...Object.keys(before), ...Object.keys(after)])
  const members = [...names].map(name => {
    const [kept, from, to] = [stored, before, after].map(members => ownMember(members, name))
    const levels = levelsOf(name)
    if (levels > 0 && isMap(kept) && isMap(from) && isMap(to)) {
      return [name, merge(kept, from, to, () => levels - 1)] as const
    }
    return [name, JSON.stringify(from) === JSON.stringify(to) ? kept : to] as const
  })
  return Object.fromEntries(members.filter(([, member]) => member !== undefined))
}

function isMap(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The object's own member of this name. Inherited members do not count, because a worker may be called `__proto__`. */
function ownMember(members: Members, name: string): unknown {
  return Object.hasOwn(members, name) ? members[name] : undefined
}
