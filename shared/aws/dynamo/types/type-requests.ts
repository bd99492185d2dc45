import type { TaskType } from '../../../core/types/task-type.ts'
import {
  type GetRequest,
  METERED,
  type PutRequest,
  type QueryRequest,
  type UpdateRequest,
} from '../documents.ts'
import { FAIR_ATTRIBUTE, TYPES_PARTITION, VERSION_ATTRIBUTE } from '../keys.ts'
import { typeItem } from '../side-items.ts'
import type { Item } from '../stored-form.ts'

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_VERSION = '#version = :version'
const SET_FAIR = 'SET #fair = :fair, #version = :next'

/** Reads a task type. Strongly consistent. */
export function getType(table: string, type: string): GetRequest {
  return { ...METERED, TableName: table, Key: { pk: TYPES_PARTITION, sk: type }, ConsistentRead: true }
}

/** Reads all types by name, from `start` on. Strongly consistent. */
export function listTypes(table: string, start?: Item): QueryRequest {
  return {
    ...METERED,
    TableName: table,
    KeyConditionExpression: '#pk = :types',
    ExpressionAttributeNames: { '#pk': 'pk' },
    ExpressionAttributeValues: { ':types': TYPES_PARTITION },
    ConsistentRead: true,
    ...(start && { ExclusiveStartKey: start }),
  }
}

/** Writes a type. Guard: the stored version is still `version`. 0 means that none is stored. */
export function putType(table: string, next: TaskType, version: number): PutRequest {
  const put = {
    ...METERED,
    TableName: table,
    Item: typeItem(next),
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const
  if (version === 0) {
    return { ...put, ConditionExpression: NOTHING_THERE, ExpressionAttributeNames: { '#pk': 'pk' } }
  }
  return {
    ...put,
    ConditionExpression: SAME_VERSION,
    ExpressionAttributeNames: { '#version': 'version' },
    ExpressionAttributeValues: { ':version': version },
  }
}

/**
 * Records that a type has tenants. Guard: the stored version is still `version`. A policy can allow a program to write only
 * these attributes of types' items.
 */
export function markTypeFair(
  table: string,
  { type, version: next }: TaskType,
  version: number,
): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: { pk: TYPES_PARTITION, sk: type },
    UpdateExpression: SET_FAIR,
    ConditionExpression: SAME_VERSION,
    ExpressionAttributeNames: { '#fair': FAIR_ATTRIBUTE, '#version': VERSION_ATTRIBUTE },
    ExpressionAttributeValues: { ':fair': next, ':next': next, ':version': version },
  }
}
