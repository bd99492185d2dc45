import type { BodyWrite } from '../../../core/change.ts'
import type { FlowDefinition } from '../../../core/task/flow-state.ts'
import { bornOfRunRef, runRefPrefix } from '../../../core/task/head-fields.ts'
import type { RunRecord } from '../../../core/task/task.ts'
import type { StoredBy } from '../attributes.ts'
import type { Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, JOINED_BY_AND, namesOf, SCHEMA, ttlSeconds } from '../documents.ts'
import { DEFINITION_SORT_KEY, definitionPartition } from '../keys.ts'
import { getItem, ifVersion } from '../requests.ts'
import { ENDED_RUN } from './head-attributes.ts'

const EXISTS = 'attribute_exists(#pk)'
const EXPIRES_EARLIER = '#ttl < :ttl'

/** Reads a body. Strongly consistent. */
export function getBody(table: string, id: string, ref: string): RequestOf<'get'> {
  return getItem(table, { pk: id, sk: ref })
}

/** Writes a body. No guard: a ref names a birth and, where contents may differ, a digest. So a write overwrites only an equal body. */
export function putBody(table: string, id: string, write: BodyWrite): RequestOf<'put'> {
  return { TableName: table, Item: bodyItem(id, write) }
}

/** Prolongs the life of a body. Guard: the body exists and would expire earlier. */
export function renewBody(table: string, id: string, ref: string, expiresAt: number): RequestOf<'update'> {
  return {
    TableName: table,
    Key: { pk: id, sk: ref },
    UpdateExpression: 'SET #ttl = :ttl',
    ConditionExpression: [EXISTS, EXPIRES_EARLIER].join(JOINED_BY_AND),
    ExpressionAttributeNames: namesOf('pk', 'ttl'),
    ExpressionAttributeValues: { ':ttl': ttlSeconds(expiresAt) },
  }
}

/** Deletes a body. No guard: the caller knows that no head points at it. */
export function deleteBody(table: string, id: string, ref: string): RequestOf<'delete'> {
  return { TableName: table, Key: { pk: id, sk: ref } }
}

/** Reads the records of the ended runs of this birth and of those after it, the latest first. Strongly consistent. */
export function queryRuns(table: string, id: string, born: string): RequestOf<'query'> {
  return {
    TableName: table,
    KeyConditionExpression: '#pk = :id AND #sk BETWEEN :from AND :to',
    ExpressionAttributeNames: namesOf('pk', 'sk'),
    ExpressionAttributeValues: { ':id': id, ':from': runRefPrefix(born), ':to': runRefPrefix('~') },
    ConsistentRead: true,
    ScanIndexForward: false,
  }
}

/** The item of an input, of a result, or of the record of an ended run. */
export function bodyItem(id: string, write: BodyWrite): Item & { readonly pk: string; readonly sk: string } {
  const key = { pk: id, sk: write.ref, ...SCHEMA, ttl: ttlSeconds(write.expiresAt) }
  return 'run' in write
    ? { ...key, fence: write.run.fence, run: ENDED_RUN.encode(write.run) }
    : { ...key, json: JSON.stringify(write.value) }
}

export function runFromItem(item: Item): RunRecord {
  assertKnownSchema(item)
  const { sk, fence } = item as { readonly sk: string; readonly fence: number }
  return { born: bornOfRunRef(sk), fence, ...ENDED_RUN.decode(item.run as StoredBy<typeof ENDED_RUN>) }
}

/** Reads the steps of a flow. Strongly consistent. */
export function getDefinition(table: string, name: string): RequestOf<'get'> {
  return getItem(table, { pk: definitionPartition(name), sk: DEFINITION_SORT_KEY })
}

/** Writes the steps of a flow. Guard: the item does not exist. An existing item should have the same steps: its name is their digest. */
export function putDefinition(table: string, definition: FlowDefinition): RequestOf<'put'> {
  const key = { pk: definitionPartition(definition.name), sk: DEFINITION_SORT_KEY }
  return { TableName: table, Item: { ...key, ...SCHEMA, json: JSON.stringify(definition) }, ...ifVersion(0) }
}
