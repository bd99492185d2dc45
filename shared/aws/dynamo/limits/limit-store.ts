import type { LimitChange } from '../../../core/limits/line.ts'
import type { LimitStore } from '../../../ports/stores.ts'
import type { AttributeValue, BatchReader, Documents, Item, RequestOf } from '../documents.ts'
import { readBatches } from '../documents.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import * as keys from '../keys.ts'
import * as limits from './limit-requests.ts'

/** Stores slots, permits and the notes of lines in a DynamoDB table with the keys of `keys.ts`. */
export function createLimitStore(
  documents: Documents,
  settings: Omit<BatchReader, 'documents'> & { readonly newWriteId: () => string },
): LimitStore {
  const { table, newWriteId } = settings
  /** What is stored instead, when a put is refused. A put that is repeated after a lost answer recognises itself by its write id. */
  const refusing = async <Stored>(
    request: RequestOf<'put'>,
    writeId: string,
    decode: (item: Item | undefined) => Stored,
  ): Promise<Stored | undefined> => {
    const { isWritten, item } = await documents.put(request)
    return isWritten || item?.[WRITE_ID_ATTRIBUTE] === writeId ? undefined : decode(item)
  }
  return {
    slots: async limit => limits.slotsFromItem(await documents.get(limits.getSlots(table, limit))),
    putSlots: async (limit, log, { version }, { expiresAt, returned = 0 }) => {
      const writeId = newWriteId()
      const write = { version, writeId, expiresAt, returned }
      return refusing(limits.putSlots(table, limit, log, write), writeId, limits.slotsFromItem)
    },
    line: async line => limits.lineFromItem(await documents.get(limits.getLine(table, line))),
    putLine: async (line, note, { version }, { isNoted } = { isNoted: false }) => {
      const writeId = newWriteId()
      return refusing(
        limits.putLine(table, line, note, { version, writeId, isNoted }),
        writeId,
        limits.lineFromItem,
      )
    },
    endLine: async (line, { version }) => {
      await documents.delete(limits.deleteLine(table, line, version))
    },
    overdueLines: async (before, most) => {
      const shards = Array.from({ length: keys.LINE_SHARDS }, (_, shard) =>
        limits.queryLines(table, shard, before, most),
      )
      const pages = await Promise.all(shards.map(query => documents.query(query)))
      return pages.flatMap(({ items }) => items.map(limits.lineOfKey)).slice(0, most)
    },
    acquire: async (limit, holder, max) => {
      const { isWritten, item } = await documents.update(limits.acquirePermit(table, limit, holder, max))
      if (isWritten) return undefined
      const held = limits.permitsFromItem(item)
      return held.holders.some(one => one.holder === holder.holder) ? undefined : held
    },
    release: async (limit, holder, since) =>
      limits.permitsFromItem(
        (await documents.update(limits.releasePermit(table, limit, holder, since))).item,
      ),
    renew: async (limit, holder, now) =>
      (await documents.update(limits.renewPermit(table, limit, holder, now))).isWritten,
    permits: async (limit, shards) =>
      limits.permitsFromItems(
        await readBatches({ documents, ...settings }, shards, (_, some) =>
          limits.batchGetPermits(table, limit, some),
        ),
      ),
  }
}

type Image = Readonly<Record<string, AttributeValue>>

/**
 * What the last write of a limit's item tells the planner: a run gave a permit back (`freed`), claims gave slots back (`returned`), or a
 * process noted that tasks wait in a line (`noted`). `image` is an image of the table's stream. Undefined for all other items and writes.
 */
export function limitChangeIn(image: Image): LimitChange | undefined {
  const { pk, sk } = { pk: image.pk?.S ?? '', sk: image.sk?.S }
  const noted = image[keys.NOTED_ATTRIBUTE]?.N
  if (noted !== undefined) return { kind: 'noted', line: limits.lineOfKey({ pk, sk }), lookAt: Number(noted) }
  const freed = image[keys.FREED_ATTRIBUTE]?.N
  if (freed === undefined) return undefined
  if (sk === keys.SLOTS_SORT_KEY)
    return { kind: 'returned', line: { kind: 'slot', limit: keys.limitOfSlots(pk) }, slots: Number(freed) }
  return sk === keys.PERMITS_SORT_KEY ? { kind: 'freed', ...keys.shardOfPermits(pk) } : undefined
}
