import type {
  DeleteCommandInput,
  GetCommandInput,
  PutCommandInput,
  QueryCommandInput,
  UpdateCommandInput,
} from '@aws-sdk/lib-dynamodb'
import { type BodyWrite, runRefPrefix } from '../../../core/task/body.ts'
import { JOINED_BY_AND } from '../expressions.ts'
import { METERED } from '../sending.ts'
import { bodyItem } from '../side-items.ts'
import { type Item, ttlSeconds } from '../stored-form.ts'

const EXISTS = 'attribute_exists(#pk)'
const EXPIRES_EARLIER = '#ttl < :ttl'
const OF_TASK = '#pk = :id'
const RUN_OF_BIRTH = 'begins_with(#sk, :prefix)'

/** Strongly consistent. */
export function getBody(table: string, id: string, ref: string): GetCommandInput {
  return { ...METERED, TableName: table, Key: { pk: id, sk: ref }, ConsistentRead: true }
}

/** No guard: a ref names birth and revision or fence, so that what it may overwrite is its own earlier try. */
export function putBody(table: string, id: string, write: BodyWrite): PutCommandInput {
  return { ...METERED, TableName: table, Item: bodyItem(id, write) }
}

/** Guard: it is there, and would expire earlier. */
export function renewBody(table: string, id: string, ref: string, expiresAt: number): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: { pk: id, sk: ref },
    UpdateExpression: 'SET #ttl = :ttl',
    ConditionExpression: [EXISTS, EXPIRES_EARLIER].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#pk': 'pk', '#ttl': 'ttl' },
    ExpressionAttributeValues: { ':ttl': ttlSeconds(expiresAt) },
  }
}

/** No guard: the caller knows that no head points at it. */
export function deleteBody(table: string, id: string, ref: string): DeleteCommandInput {
  return { ...METERED, TableName: table, Key: { pk: id, sk: ref } }
}

/** Records of the ended runs of one birth, the highest fence first. Strongly consistent. */
export function queryRuns(
  table: string,
  id: string,
  born: string,
  limit: number,
  start?: Item,
): QueryCommandInput {
  return {
    ...METERED,
    TableName: table,
    KeyConditionExpression: [OF_TASK, RUN_OF_BIRTH].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#pk': 'pk', '#sk': 'sk' },
    ExpressionAttributeValues: { ':id': id, ':prefix': runRefPrefix(born) },
    ConsistentRead: true,
    ScanIndexForward: false,
    Limit: limit,
    ...(start && { ExclusiveStartKey: start }),
  }
}
