import { runRefPrefix } from '../core/body.ts'
import type { BodyWrite, Guard } from '../core/change.ts'
import { indexKeys } from '../core/index-keys.ts'
import type { Task } from '../core/task.ts'
import type { IndexEntry, IndexQuery, IndexRange, TaskStore } from '../ports.ts'
import { mergedTask } from './merged-task.ts'

/** Tasks in memory, with the promises of the DynamoDB adapter. Indexes are never stale here. */
export function createMemoryTaskStore(): TaskStore {
  const heads = new Map<string, Task>()
  const bodies = new Map<string, BodyWrite>()

  const inRange = (range: IndexRange): IndexEntry[] =>
    [...heads.values()].flatMap(task => entryIn(task, range)).sort(byPosition)

  return {
    head: async id => heads.get(id),
    heads: async ids => [...new Set(ids)].flatMap(id => heads.get(id) ?? []),
    apply: async change => {
      const { after, guard } = change
      const keep = (kept: readonly BodyWrite[]) => {
        for (const body of kept) bodies.set(bodyKey(after.id, body.ref), stored(body))
      }
      keep(change.bodies.filter(body => !('run' in body)))
      const current = heads.get(after.id)
      if (!holds(guard, current)) return { applied: false, current }
      keep(change.bodies.filter(body => 'run' in body))
      const merged = stored(current ? mergedTask(current, change) : after)
      heads.set(after.id, merged)
      return { applied: true, task: after.operation === 'beat' ? merged : after }
    },
    body: async (id, ref) => {
      const body = bodies.get(bodyKey(id, ref))
      return body && 'value' in body ? body.value : undefined
    },
    renewBody: async (id, ref, expiresAt) => {
      const body = bodies.get(bodyKey(id, ref))
      if (body) bodies.set(bodyKey(id, ref), { ...body, expiresAt: Math.max(body.expiresAt, expiresAt) })
    },
    dropBodies: async (id, dropped) => {
      for (const { ref } of dropped) bodies.delete(bodyKey(id, ref))
    },
    runRecords: async (id, born, limit) => {
      const prefix = bodyKey(id, runRefPrefix(born))
      const keys = [...bodies.keys()]
        .filter(key => key.startsWith(prefix))
        .sort()
        .reverse()
      const records = keys.flatMap(key => bodies.get(key) ?? [])
      return records.flatMap(record => ('run' in record ? record.run : [])).slice(0, limit)
    },
    page: async query => {
      const entries = following(inRange(query), query)
      return { entries: entries.slice(0, query.limit), more: entries.length > query.limit }
    },
    count: async range => inRange(range).length,
  }
}

function bodyKey(id: string, ref: string): string {
  return `${id}\n${ref}`
}

/** A copy as JSON text would keep it, apart from what the caller holds. */
function stored<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T
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
      return current?.born === guard.born && current.live[guard.fence] !== undefined
  }
}

function entryIn(task: Task, { index, partition, from, to }: IndexRange): IndexEntry[] {
  const key = indexKeys(task)[index]
  if (key?.partition !== partition) return []
  if (from !== undefined && key.sort < from) return []
  if (to !== undefined && key.sort > to) return []
  return [{ id: task.id, sort: key.sort }]
}

function following(entries: readonly IndexEntry[], { after, descending }: IndexQuery): IndexEntry[] {
  const ordered = descending ? entries.toReversed() : [...entries]
  if (!after) return ordered
  return ordered.filter(entry => (descending ? byPosition(entry, after) < 0 : byPosition(entry, after) > 0))
}

function byPosition(a: IndexEntry, b: IndexEntry): number {
  return compared(a.sort, b.sort) || compared(a.id, b.id)
}

function compared(a: number | string, b: number | string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}
