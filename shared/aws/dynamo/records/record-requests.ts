import type { Json } from '../../../core/values/json.ts'
import { type GetRequest, METERED, type PutRequest } from '../documents.ts'
import { RECORD_SORT_KEY, recordPartition } from '../keys.ts'
import { recordItem } from '../side-items.ts'

/** Reads a record. Strongly consistent. */
export function getRecord(table: string, name: string): GetRequest {
  const key = { pk: recordPartition(name), sk: RECORD_SORT_KEY }
  return { ...METERED, TableName: table, Key: key, ConsistentRead: true }
}

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const EXPIRED = '#expires <= :now'

/** Writes a new record. Guard: there is no record of this name, or it has expired. */
export function putNewRecord(
  table: string,
  name: string,
  value: Json,
  times: { readonly expiresAt: number; readonly now: number },
): PutRequest {
  return {
    ...putRecord(table, name, value, times.expiresAt),
    ConditionExpression: `${NOTHING_THERE} OR ${EXPIRED}`,
    ExpressionAttributeNames: { '#pk': 'pk', '#expires': 'expires' },
    ExpressionAttributeValues: { ':now': times.now },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Writes a record. No guard: the last write wins. */
export function putRecord(table: string, name: string, value: Json, expiresAt: number): PutRequest {
  return { ...METERED, TableName: table, Item: recordItem(name, value, expiresAt) }
}
