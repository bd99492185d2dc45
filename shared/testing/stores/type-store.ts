import { type TaskType, withTenants } from '../../core/types/task-type.ts'
import type { TypeStore } from '../../ports/stores.ts'

/** Stores task types in memory. */
export function createMemoryTypeStore(): TypeStore {
  const types = new Map<string, TaskType>()
  return {
    get: async type => types.get(type),
    list: async () => [...types.values()].sort((a, b) => (a.type < b.type ? -1 : 1)),
    put: async (next, version) => {
      if ((types.get(next.type)?.version ?? 0) !== version) return false
      types.set(next.type, JSON.parse(JSON.stringify(next)) as TaskType)
      return true
    },
    markFair: async ({ type, version: next }, version) => {
      const stored = types.get(type)
      if (stored?.version !== version) return false
      types.set(type, withTenants({ ...stored, version: next }))
      return true
    },
  }
}
