import type { Json } from '../../../core/values/values.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { RecordStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { bodyFromItem, namesOf, SCHEMA, ttlSeconds } from '../documents.ts'
import { RECORD_SORT_KEY, recordPartition } from '../keys.ts'
import { getItem, ifStored } from '../requests.ts'

/** Stores the records that `core/record-names.ts` names in a DynamoDB table with the keys of `keys.ts`. Expired records count as gone. */
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
    replace: async (name, value, seen, expiresAt) => {
      const { isWritten } = await documents.put(replaceRecord(table, name, value, { seen, expiresAt }))
      return isWritten
    },
  }
}

/** Reads a record. Strongly consistent. */
export function getRecord(table: string, name: string): RequestOf<'get'> {
  return getItem(table, { pk: recordPartition(name), sk: RECORD_SORT_KEY })
}

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const EXPIRED = '#expires <= :now'

/** Writes a new record. Guard: there is no record of this name, or it has expired. */
export function putNewRecord(
  table: string,
  name: string,
  value: Json,
  times: { readonly expiresAt: number; readonly now: number },
): RequestOf<'put'> {
  return {
    ...putRecord(table, name, value, times.expiresAt),
    ConditionExpression: `${NOTHING_THERE} OR ${EXPIRED}`,
    ExpressionAttributeNames: namesOf('pk', 'expires'),
    ExpressionAttributeValues: { ':now': times.now },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Writes a record. No guard: the last write wins. */
export function putRecord(table: string, name: string, value: Json, expiresAt: number): RequestOf<'put'> {
  const key = { pk: recordPartition(name), sk: RECORD_SORT_KEY }
  const life = { expires: expiresAt, ttl: ttlSeconds(expiresAt) }
  return { TableName: table, Item: { ...key, ...SCHEMA, json: JSON.stringify(value), ...life } }
}

/** Replaces a record. Guard: its value is still the one that was seen. */
export function replaceRecord(
  table: string,
  name: string,
  value: Json,
  { seen, expiresAt }: { readonly seen: Json; readonly expiresAt: number },
): RequestOf<'put'> {
  return {
    ...putRecord(table, name, value, expiresAt),
    ...ifStored({ json: JSON.stringify(seen) }),
  }
}

/** The value of a record; undefined when it has expired. DynamoDB may delete expired items days late. */
function recordFromItem(item: Item, now: number): Json | undefined {
  return (item.expires as number) > now ? bodyFromItem(item) : undefined
}
