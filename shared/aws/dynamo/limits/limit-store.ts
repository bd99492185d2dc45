import { type DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { HeldPermits } from '../../../core/limits/held-permits.ts'
import type { LimitStore } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import { answerOf, conditional } from '../sending.ts'
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
  documents: DynamoDBDocumentClient,
  settings: Omit<BatchReader, 'documents'> & { readonly newWriteId: () => string },
): LimitStore {
  const { table, newWriteId } = settings
  const reader = { documents, ...settings }
  const read = async (request: ReturnType<typeof getSlots>) =>
    (await answerOf(documents.send(new GetCommand(request)))).Item
  const update = (request: ReturnType<typeof releasePermit>) =>
    conditional(documents.send(new UpdateCommand(request)))
  return {
    slots: async limit => slotsFromItem(await read(getSlots(table, limit))),
    putSlots: async (limit, log, seen, expiresAt) => {
      const writeId = newWriteId()
      const request = putSlots(table, limit, log, { seen, expiresAt, writeId })
      const written = await conditional(documents.send(new PutCommand(request)))
      if (!('refusedBy' in written)) return undefined
      // A write that is repeated after a lost answer recognises itself by its write id. Equal slots would prove nothing.
      return written.refusedBy?.[WRITE_ID_ATTRIBUTE] === writeId
        ? undefined
        : slotsFromItem(written.refusedBy)
    },
    countSlots: async (limit, version, count, expiresAt) => {
      const written = await update(countSlots(table, limit, version, { count, expiresAt }))
      return 'refusedBy' in written ? undefined : (written.answer.Attributes?.more as number)
    },
    acquire: async (limit, holder, max) => {
      const written = await update(acquirePermit(table, limit, holder, max))
      if (!('refusedBy' in written)) return undefined
      const held = permitsFromItem(written.refusedBy)
      return held.holders.some(one => one.holder === holder.holder) ? undefined : held
    },
    release: async (limit, holder, releasing = {}) => {
      const written = await update(releasePermit(table, limit, holder, releasing))
      return permitsFromItem('refusedBy' in written ? written.refusedBy : written.answer.Attributes)
    },
    renew: async (limit, holder, now) =>
      !('refusedBy' in (await update(renewPermit(table, limit, holder, now)))),
    permits: async (limit, shards) =>
      permitsFromItems(await readBatches(reader, shards, (_, some) => batchGetPermits(table, limit, some))),
    noteWaiting: async (limit, now, most) => {
      const found = refusingPermits(await update(noteWaiting(table, limit, now, most)))
      return found?.waitNotedAt === now ? undefined : found
    },
    renewWaiting: async (limit, now, seen) => {
      const found = refusingPermits(await update(renewWaiting(table, limit, now, seen)))
      return !found || found.waitNotedAt === now
    },
    clearWaiting: async (limit, since) => {
      await update(clearWaiting(table, limit, since))
    },
  }
}

/**
 * The stored permits, when they refused a note; undefined when the note was written. A repeated write finds its own note, of the
 * time `now`.
 */
function refusingPermits(written: Awaited<ReturnType<typeof conditional>>): HeldPermits | undefined {
  return 'refusedBy' in written ? permitsFromItem(written.refusedBy) : undefined
}
