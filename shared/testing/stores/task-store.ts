import type { TaskStore } from '../../ports/stores.ts'
import { createMemoryBodies, inOrderOfWriting } from './bodies.ts'
import { createMemoryHeads } from './heads.ts'
import { entriesIn, pageOf } from './index-pages.ts'

/** Stores tasks in memory, with the promises of the DynamoDB adapter. Its indexes are never stale. */
export function createMemoryTaskStore(): TaskStore {
  const heads = createMemoryHeads()
  const { keep, ...bodies } = createMemoryBodies()
  return {
    ...bodies,
    head: async id => heads.get(id),
    // Every head in memory is readable.
    bury: async () => false,
    heads: async ids => [...new Set(ids)].flatMap(id => heads.get(id) ?? []),
    apply: async change => {
      const { beforeHead, afterHead } = inOrderOfWriting(change.bodies)
      keep(change.after.id, beforeHead)
      const applied = heads.write(change)
      if (applied.applied) keep(change.after.id, afterHead)
      return applied
    },
    recordLook: async (task, record, now) => heads.recordLook(task, record, now),
    page: async query => pageOf(heads.all(), query),
    count: async (range, atMost = Number.POSITIVE_INFINITY) =>
      Math.min(entriesIn(heads.all(), range).length, atMost),
  }
}
