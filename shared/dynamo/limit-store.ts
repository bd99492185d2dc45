import { type DynamoDBDocumentClient, GetCommand, PutCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { LimitStore } from '../ports/stores.ts'
import { TOKEN_ATTRIBUTE } from './head-requests.ts'
import {
  acquirePermit,
  clearWaiting,
  countStarts,
  getPermits,
  getStarts,
  noteWaiting,
  permitsFromItem,
  putStarts,
  releasePermit,
  startsFromItem,
} from './limit-requests.ts'
import { answerOf, conditional } from './sending.ts'

/** What limits have granted, in a DynamoDB table with the keys of `keys.ts`. */
export function createLimitStore(
  documents: DynamoDBDocumentClient,
  { table, token }: { readonly table: string; readonly token: () => string },
): LimitStore {
  const read = async (request: ReturnType<typeof getStarts>) =>
    (await answerOf(documents.send(new GetCommand(request)))).Item
  const update = (request: ReturnType<typeof releasePermit>) =>
    conditional(documents.send(new UpdateCommand(request)))
  return {
    starts: async limit => startsFromItem(await read(getStarts(table, limit))),
    putStarts: async (limit, log, seen, expiresAt) => {
      const name = token()
      const request = putStarts(table, limit, log, { seen, expiresAt, token: name })
      const written = await conditional(documents.send(new PutCommand(request)))
      if (!('refusedBy' in written)) return undefined
      // A repetition of a write whose answer was lost finds its own work. Others may have written the very same starts.
      return written.refusedBy?.[TOKEN_ATTRIBUTE] === name ? undefined : startsFromItem(written.refusedBy)
    },
    countStarts: async (limit, version, count, expiresAt) => {
      const written = await update(countStarts(table, limit, version, { count, expiresAt }))
      return 'refusedBy' in written ? undefined : (written.answer.Attributes?.more as number)
    },
    acquire: async (limit, holder, max) => {
      const written = await update(acquirePermit(table, limit, holder, max))
      if (!('refusedBy' in written)) return undefined
      const held = permitsFromItem(written.refusedBy)
      return held.holders.some(one => one.holder === holder.holder) ? undefined : held
    },
    release: async (limit, holder) => {
      const written = await update(releasePermit(table, limit, holder))
      return permitsFromItem('refusedBy' in written ? written.refusedBy : written.answer.Attributes)
    },
    permits: async limit => permitsFromItem(await read(getPermits(table, limit))),
    noteWaiting: async (limit, now, max) =>
      !('refusedBy' in (await update(noteWaiting(table, limit, now, max)))),
    clearWaiting: async (limit, since) => {
      await update(clearWaiting(table, limit, since))
    },
  }
}
