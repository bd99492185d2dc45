import { BatonError } from '../../../core/errors.ts'
import type { TaskType } from '../../../core/types/task-type.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { TypeStore } from '../../../ports/stores.ts'
import {
  type Documents,
  type GetRequest,
  type Item,
  METERED,
  type PutRequest,
  type QueryRequest,
  type UpdateRequest,
} from '../documents.ts'
import { unreadableLogger } from '../head/unreadable-heads.ts'
import { FAIR_ATTRIBUTE, TYPES_PARTITION, VERSION_ATTRIBUTE } from '../keys.ts'
import { typeFromItem, typeItem } from '../side-items.ts'

type TypeTable = {
  readonly table: string
  readonly clock: Pick<Clock, 'now'>
  /** Logs the types that `list` leaves out. @default no log */
  readonly log?: Pick<Log, 'error'>
}

/** Stores task types in a DynamoDB table with the keys of `keys.ts`. */
export function createTypeStore(
  documents: Documents,
  { table, clock, log = { error: () => undefined } }: TypeTable,
): TypeStore {
  const logUnreadable = unreadableLogger(log, clock, 'type')
  const readable = (item: Item): TaskType[] => {
    try {
      return [typeFromItem(item)]
    } catch (error) {
      if (!(error instanceof BatonError && error.code === 'unreadable')) throw error
      logUnreadable(String(item.sk), error)
      return []
    }
  }
  return {
    get: async type => {
      const item = await documents.get(getType(table, type))
      return item && typeFromItem(item)
    },
    list: async () => {
      const types: TaskType[] = []
      let start: Item | undefined
      do {
        const { items, next } = await documents.query(listTypes(table, start))
        types.push(...items.flatMap(readable))
        start = next
      } while (start)
      return types
    },
    put: async (next, version) => {
      const { isWritten, item } = await documents.put(putType(table, next, version))
      return isWritten || isOwnWrite(next, item)
    },
    markFair: async (next, version) => (await documents.update(markTypeFair(table, next, version))).isWritten,
  }
}

/** Whether a refused write is stored already. A repetition after a lost answer finds exactly what it would have written. */
function isOwnWrite(next: TaskType, stored: Item | undefined): boolean {
  return stored?.json === typeItem(next).json
}

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
