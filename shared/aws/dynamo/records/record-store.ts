import { type DynamoDBDocumentClient, GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb'
import type { Clock } from '../../../ports/machine.ts'
import type { RecordStore } from '../../../ports/stores.ts'
import { answerOf, conditional, writeAnswer } from '../sending.ts'
import { recordFromItem } from '../side-items.ts'
import { getRecord, putNewRecord, putRecord } from './record-requests.ts'

/**
 * Stores the records that `core/record-names.ts` names in a DynamoDB table with the keys of `keys.ts`. Expired records count as
 * gone.
 */
export function createRecordStore(
  documents: DynamoDBDocumentClient,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): RecordStore {
  return {
    get: async name => {
      const { Item } = await answerOf(documents.send(new GetCommand(getRecord(table, name))))
      return Item && recordFromItem(Item, clock.now())
    },
    put: async (name, value, expiresAt) => {
      await writeAnswer(documents.send(new PutCommand(putRecord(table, name, value, expiresAt))))
    },
    putNew: async (name, value, expiresAt) => {
      const now = clock.now()
      const request = putNewRecord(table, name, value, { expiresAt, now })
      const written = await conditional(documents.send(new PutCommand(request)))
      return 'refusedBy' in written && written.refusedBy ? recordFromItem(written.refusedBy, now) : undefined
    },
  }
}
