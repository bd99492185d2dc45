import type { Clock } from '../../../ports/machine.ts'
import type { RecordStore } from '../../../ports/stores.ts'
import type { Documents } from '../documents.ts'
import { recordFromItem } from '../side-items.ts'
import { getRecord, putNewRecord, putRecord } from './record-requests.ts'

/**
 * Stores the records that `core/record-names.ts` names in a DynamoDB table with the keys of `keys.ts`. Expired records count as
 * gone.
 */
export function createRecordStore(
  documents: Documents,
  { table, clock }: { readonly table: string; readonly clock: Pick<Clock, 'now'> },
): RecordStore {
  return {
    get: async name => {
      const item = await documents.get(getRecord(table, name))
      return item && recordFromItem(item, clock.now())
    },
    put: async (name, value, expiresAt) => {
      await documents.put(putRecord(table, name, value, expiresAt))
    },
    putNew: async (name, value, expiresAt) => {
      const now = clock.now()
      const request = putNewRecord(table, name, value, { expiresAt, now })
      const { item } = await documents.put(request)
      return item && recordFromItem(item, now)
    },
  }
}
