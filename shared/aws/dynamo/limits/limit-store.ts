import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  type PutCommandInput,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import type { LimitStore } from '../../../ports/stores.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import { LINE_SHARDS } from '../keys.ts'
import { answerOf, conditional } from '../sending.ts'
import type { Item } from '../stored-form.ts'
import {
  acquirePermit,
  deleteLine,
  getLine,
  getPermits,
  getSlots,
  lineFromItem,
  lineOfKey,
  permitsFromItem,
  putLine,
  putSlots,
  queryLines,
  releasePermit,
  renewPermit,
  slotsFromItem,
} from './limit-requests.ts'

/** Stores slots, permits and the notes of lines in a DynamoDB table with the keys of `keys.ts`. */
export function createLimitStore(
  documents: DynamoDBDocumentClient,
  { table, newWriteId }: { readonly table: string; readonly newWriteId: () => string },
): LimitStore {
  const read = async (request: ReturnType<typeof getSlots>) =>
    (await answerOf(documents.send(new GetCommand(request)))).Item
  const update = (request: ReturnType<typeof releasePermit>) =>
    conditional(documents.send(new UpdateCommand(request)))
  /** What is stored instead, when a put is refused. A put that is repeated after a lost answer recognises itself by its write id. */
  const refusing = async <Stored>(
    request: PutCommandInput,
    writeId: string,
    decode: (item: Item | undefined) => Stored,
  ): Promise<Stored | undefined> => {
    const written = await conditional(documents.send(new PutCommand(request)))
    const isWritten = !('refusedBy' in written) || written.refusedBy?.[WRITE_ID_ATTRIBUTE] === writeId
    return isWritten ? undefined : decode(written.refusedBy)
  }
  return {
    slots: async limit => slotsFromItem(await read(getSlots(table, limit))),
    putSlots: async (limit, log, { version }, expiresAt) => {
      const writeId = newWriteId()
      return refusing(putSlots(table, limit, log, { version, writeId, expiresAt }), writeId, slotsFromItem)
    },
    line: async line => lineFromItem(await read(getLine(table, line))),
    putLine: async (line, note, { version }, { isNoted } = { isNoted: false }) => {
      const writeId = newWriteId()
      return refusing(putLine(table, line, note, { version, writeId, isNoted }), writeId, lineFromItem)
    },
    endLine: async (line, { version }) => {
      await conditional(documents.send(new DeleteCommand(deleteLine(table, line, version))), answerOf)
    },
    overdueLines: async (before, most) => {
      const shards = Array.from({ length: LINE_SHARDS }, (_, shard) => queryLines(table, shard, before, most))
      const pages = await Promise.all(shards.map(query => answerOf(documents.send(new QueryCommand(query)))))
      return pages.flatMap(({ Items = [] }) => Items.map(lineOfKey)).slice(0, most)
    },
    acquire: async (limit, holder, max) => {
      const written = await update(acquirePermit(table, limit, holder, max))
      if (!('refusedBy' in written)) return undefined
      const held = permitsFromItem(written.refusedBy)
      return held.holders.some(one => one.holder === holder.holder) ? undefined : held
    },
    release: async (limit, holder, since) => {
      const written = await update(releasePermit(table, limit, holder, since))
      return permitsFromItem('refusedBy' in written ? written.refusedBy : written.answer.Attributes)
    },
    renew: async (limit, holder, now) =>
      !('refusedBy' in (await update(renewPermit(table, limit, holder, now)))),
    permits: async limit => permitsFromItem(await read(getPermits(table, limit))),
  }
}
