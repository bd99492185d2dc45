import type { Change, Guard } from '../core/change.ts'
import type { LookRecord } from '../core/look-chain.ts'
import type { Task } from '../core/task.ts'
import type { Applied } from '../ports/stores.ts'
import { asStored } from './as-stored.ts'
import { mergedTask } from './merged-task.ts'

/** Heads in memory, and the conditional write. */
export type MemoryHeads = {
  get(id: string): Task | undefined
  all(): Iterable<Task>
  /** Deletes the head under an id, as DynamoDB deletes an expired item. */
  drop(id: string): void
  recordLook(task: Task, record: LookRecord, now: number): boolean
  /** Writes the head of a change, its bodies apart, if its guard holds. */
  write(change: Change): Applied
}

export function createMemoryHeads(): MemoryHeads {
  const heads = new Map<string, Task>()
  const looks = new Map<string, LookRecord & Pick<Task, 'born' | 'revision'>>()
  return {
    get: id => heads.get(id),
    drop: id => void heads.delete(id),
    all: () => heads.values(),
    write: change => {
      const { after, guard } = change
      const current = heads.get(after.id)
      if (!holds(guard, current)) return { applied: false, current }
      const merged = asStored(current ? mergedTask(current, change) : after)
      heads.set(after.id, merged)
      const isBlind = guard.kind === 'live' || guard.kind === 'counted'
      return { applied: true, task: isBlind ? merged : after }
    },
    recordLook: ({ id, born, revision }, record, now) => {
      const current = heads.get(id)
      if (current?.born !== born || current.revision !== revision) return false
      const other = looks.get(id)
      const isSameRevision = other?.born === born && other.revision === revision
      const isAhead = isSameRevision && other.hops >= record.hops && other.until >= now
      if (isAhead && other.name !== record.name) return false
      looks.set(id, { ...record, born, revision })
      heads.set(id, { ...current, operation: 'beat' })
      return true
    },
  }
}

function holds(guard: Guard, current: Task | undefined): boolean {
  switch (guard.kind) {
    case 'absent':
      return current === undefined
    case 'revision': {
      const { born, revision, leases } = guard
      const isSeen = current?.born === born && current.revision === revision
      return isSeen && leases.every(({ fence, leaseUntil }) => current.live[fence]?.leaseUntil === leaseUntil)
    }
    case 'live':
    case 'counted':
      return current?.born === guard.born && current.live[guard.fence] !== undefined
  }
}
