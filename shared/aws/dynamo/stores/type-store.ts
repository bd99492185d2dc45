import { type TaskType, withTenants } from '../../../core/types/task-type.ts'
import { BatonError } from '../../../core/values/values.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { TypeStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, readAll, SCHEMA } from '../documents.ts'
import { unreadableLogger } from '../head/head-reader.ts'
import { FAIR_ATTRIBUTE, TYPES_PARTITION, VERSION_ATTRIBUTE } from '../keys.ts'
import { getItem, ifVersion, queryPartition } from '../requests.ts'

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
    list: async () => (await readAll(documents, listTypes(table))).flatMap(readable),
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

/** Reads a task type. Strongly consistent. */
export function getType(table: string, type: string): RequestOf<'get'> {
  return getItem(table, { pk: TYPES_PARTITION, sk: type })
}

/** Reads all types by name. Strongly consistent. */
export function listTypes(table: string): RequestOf<'query'> {
  return { ...queryPartition(table, TYPES_PARTITION), ConsistentRead: true }
}

/** Writes a type. Guard: the stored version is still `version`. 0 means that none is stored. */
export function putType(table: string, next: TaskType, version: number): RequestOf<'put'> {
  return { TableName: table, Item: typeItem(next), ...ifVersion(version) }
}

/**
 * Records that a type has tenants. Guard: the stored version is still `version`. A policy can allow a program to write only
 * these attributes of types' items.
 */
export function markTypeFair(
  table: string,
  { type, version: next }: TaskType,
  version: number,
): RequestOf<'update'> {
  return {
    TableName: table,
    Key: { pk: TYPES_PARTITION, sk: type },
    UpdateExpression: 'SET #fair = :fair, #version = :next',
    ConditionExpression: '#version = :version',
    ExpressionAttributeNames: { '#fair': FAIR_ATTRIBUTE, '#version': VERSION_ATTRIBUTE },
    ExpressionAttributeValues: { ':fair': next, ':next': next, ':version': version },
  }
}

function typeItem(type: TaskType): Item {
  return {
    pk: TYPES_PARTITION,
    sk: type.type,
    ...SCHEMA,
    version: type.version,
    json: JSON.stringify(type),
  }
}

/**
 * The type in an item. When the type has got tenants since the item was last put whole, the attribute `fair` next to the JSON text
 * says so.
 *
 * @throws BatonError `newer-schema` for an item that newer code has written, and `unreadable` for one that no version of this
 * code writes.
 */
export function typeFromItem(item: Item): TaskType {
  assertKnownSchema(item)
  const type = storedType(item)
  if (item[FAIR_ATTRIBUTE] === undefined) return type
  return withTenants({ ...type, version: item[VERSION_ATTRIBUTE] as number })
}

function storedType(item: Item): TaskType {
  const why = (problem: string) => `the stored form of the type ${item.sk} cannot be read: ${problem}`
  if (!Number.isFinite(item[VERSION_ATTRIBUTE])) throw new BatonError('unreadable', why('it has no version'))
  if (typeof item.json !== 'string') throw new BatonError('unreadable', why('it has no JSON text'))
  try {
    return JSON.parse(item.json) as TaskType
  } catch (cause) {
    throw new BatonError('unreadable', why('its text is not JSON'), { cause })
  }
}
