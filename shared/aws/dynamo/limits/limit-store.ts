import type { LimitStore } from '../../../ports/stores.ts'
import { type BatchReader, readBatches } from '../batch-get.ts'
import type { Documents, PutRequest } from '../documents.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import { LINE_SHARDS } from '../keys.ts'
import type { Item } from '../stored-form.ts'
import {
  acquirePermit,
  batchGetPermits,
  deleteLine,
  getLine,
  getSlots,
  lineFromItem,
  lineOfKey,
  permitsFromItem,
  permitsFromItems,
  putLine,
  putSlots,
  queryLines,
  releasePermit,
  renewPermit,
  slotsFromItem,
} from './limit-requests.ts'

/** Stores slots, permits and the notes of lines in a DynamoDB table with the keys of `keys.ts`. */
export function createLimitStore(
  documents: Documents,
  settings: Omit<BatchReader, 'documents'> & { readonly newWriteId: () => string },
): LimitStore {
  const { table, newWriteId } = settings
  /** What is stored instead, when a put is refused. A put that is repeated after a lost answer recognises itself by its write id. */
  const refusing = async <Stored>(
    request: PutRequest,
    writeId: string,
    decode: (item: Item | undefined) => Stored,
  ): Promise<Stored | undefined> => {
    const { isWritten, item } = await documents.put(request)
    return isWritten || item?.[WRITE_ID_ATTRIBUTE] === writeId ? undefined : decode(item)
  }
  return {
    slots: async limit => slotsFromItem(await documents.get(getSlots(table, limit))),
    putSlots: async (limit, log, { version }, { expiresAt, returned = 0 }) => {
      const writeId = newWriteId()
      const write = { version, writeId, expiresAt, returned }
      return refusing(putSlots(table, limit, log, write), writeId, slotsFromItem)
    },
    line: async line => lineFromItem(await documents.get(getLine(table, line))),
    putLine: async (line, note, { version }, { isNoted } = { isNoted: false }) => {
      const writeId = newWriteId()
      return refusing(putLine(table, line, note, { version, writeId, isNoted }), writeId, lineFromItem)
    },
    endLine: async (line, { version }) => {
      await documents.delete(deleteLine(table, line, version))
    },
    overdueLines: async (before, most) => {
      const shards = Array.from({ length: LINE_SHARDS }, (_, shard) => queryLines(table, shard, before, most))
      const pages = await Promise.all(shards.map(query => documents.query(query)))
      return pages.flatMap(({ items }) => items.map(lineOfKey)).slice(0, most)
    },
    acquire: async (limit, holder, max) => {
      const { isWritten, item } = await documents.update(acquirePermit(table, limit, holder, max))
      if (isWritten) return undefined
      const held = permitsFromItem(item)
      return held.holders.some(one => one.holder === holder.holder) ? undefined : held
    },
    release: async (limit, holder, since) =>
      permitsFromItem((await documents.update(releasePermit(table, limit, holder, since))).item),
    renew: async (limit, holder, now) =>
      (await documents.update(renewPermit(table, limit, holder, now))).isWritten,
    permits: async (limit, shards) =>
      permitsFromItems(
        await readBatches({ documents, ...settings }, shards, (_, some) =>
          batchGetPermits(table, limit, some),
        ),
      ),
  }
}
