import type { HeldPermits } from '../../../core/limits/held-permits.ts'
import type { LimitStore } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import type { Documents, Written } from '../documents.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import {
  acquirePermit,
  batchGetPermits,
  clearWaiting,
  countSlots,
  getSlots,
  noteWaiting,
  permitsFromItem,
  permitsFromItems,
  putSlots,
  releasePermit,
  renewPermit,
  renewWaiting,
  slotsFromItem,
} from './limit-requests.ts'

/** Stores slots and permits in a DynamoDB table with the keys of `keys.ts`. */
export function createLimitStore(
  documents: Documents,
  settings: Omit<BatchReader, 'documents'> & { readonly newWriteId: () => string },
): LimitStore {
  const { table, newWriteId } = settings
  return {
    slots: async limit => slotsFromItem(await documents.get(getSlots(table, limit))),
    putSlots: async (limit, log, seen, expiresAt) => {
      const writeId = newWriteId()
      const request = putSlots(table, limit, log, { seen, expiresAt, writeId })
      const { isWritten, item } = await documents.put(request)
      // A write that is repeated after a lost answer recognises itself by its write id. Equal slots would prove nothing.
      return isWritten || item?.[WRITE_ID_ATTRIBUTE] === writeId ? undefined : slotsFromItem(item)
    },
    countSlots: async (limit, version, count, expiresAt) => {
      const request = countSlots(table, limit, version, { count, expiresAt })
      const { isWritten, item } = await documents.update(request)
      return isWritten ? (item?.more as number) : undefined
    },
    acquire: async (limit, holder, max) => {
      const { isWritten, item } = await documents.update(acquirePermit(table, limit, holder, max))
      if (isWritten) return undefined
      const held = permitsFromItem(item)
      return held.holders.some(one => one.holder === holder.holder) ? undefined : held
    },
    release: async (limit, holder, releasing = {}) =>
      permitsFromItem((await documents.update(releasePermit(table, limit, holder, releasing))).item),
    renew: async (limit, holder, now) =>
      (await documents.update(renewPermit(table, limit, holder, now))).isWritten,
    permits: async (limit, shards) =>
      permitsFromItems(
        await readBatches({ documents, ...settings }, shards, (_, some) =>
          batchGetPermits(table, limit, some),
        ),
      ),
    noteWaiting: async (limit, now, most) => {
      const found = refusingPermits(await documents.update(noteWaiting(table, limit, now, most)))
      return found?.waitNotedAt === now ? undefined : found
    },
    renewWaiting: async (limit, now, seen) => {
      const found = refusingPermits(await documents.update(renewWaiting(table, limit, now, seen)))
      return !found || found.waitNotedAt === now
    },
    clearWaiting: async (limit, since) => {
      await documents.update(clearWaiting(table, limit, since))
    },
  }
}

/**
 * The stored permits, when they refused a note; undefined when the note was written. A repeated write finds its own note, of the
 * time `now`.
 */
function refusingPermits({ isWritten, item }: Written): HeldPermits | undefined {
  return isWritten ? undefined : permitsFromItem(item)
}
