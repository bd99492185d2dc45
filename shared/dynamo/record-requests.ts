import type { GetCommandInput, PutCommandInput } from '@aws-sdk/lib-dynamodb'
import type { Json } from '../core/json.ts'
import { RECORD_SORT_KEY, recordPartition } from './keys.ts'
import { METERED } from './sending.ts'
import { recordItem } from './side-items.ts'

/** Strongly consistent. */
export function getRecord(table: string, name: string): GetCommandInput {
  const key = { pk: recordPartition(name), sk: RECORD_SORT_KEY }
  return { ...METERED, TableName: table, Key: key, ConsistentRead: true }
}

/** No guard: the last writer's word holds. */
export function putRecord(table: string, name: string, value: Json, expiresAt: number): PutCommandInput {
  return { ...METERED, TableName: table, Item: recordItem(name, value, expiresAt) }
}
