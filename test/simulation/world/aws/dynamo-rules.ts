import type { PutCommandInput, UpdateCommandInput } from '@aws-sdk/lib-dynamodb'
import { INDEXES, PRIMARY_KEY } from '../../../../shared/aws/dynamo/keys.ts'

type Put = Pick<
  PutCommandInput,
  'Item' | 'ConditionExpression' | 'ExpressionAttributeNames' | 'ExpressionAttributeValues'
>
type Update = Pick<
  UpdateCommandInput,
  | 'Key'
  | 'UpdateExpression'
  | 'ConditionExpression'
  | 'ExpressionAttributeNames'
  | 'ExpressionAttributeValues'
>
/** A write as the adapters send it. */
export type Request = Put | Update

/** Source: the quotas in the developer guide of DynamoDB. */
const ITEM_BYTES_MAX = 400 * 1_024
const EXPRESSION_BYTES_MAX = 4 * 1_024
const PARTITION_KEY_BYTES_MAX = 2_048
const SORT_KEY_BYTES_MAX = 1_024
const NUMBER_MAX = 9.99e125
const NESTING_MAX = 32

/** Why DynamoDB would refuse a request; undefined for a legal one. */
export function problemOf(request: Request): string | undefined {
  const {
    ConditionExpression: condition = '',
    ExpressionAttributeValues: values,
    ExpressionAttributeNames: names,
  } = request
  const update = 'UpdateExpression' in request ? (request.UpdateExpression ?? '') : ''
  const item = 'Item' in request ? request.Item : undefined
  const key = 'Key' in request ? request.Key : item
  const longest = Math.max(Buffer.byteLength(condition), Buffer.byteLength(update))
  if (longest > EXPRESSION_BYTES_MAX) return `an expression of ${longest} bytes`
  const itemBytes = item ? bytesOf(item) : 0
  if (itemBytes > ITEM_BYTES_MAX) return `an item of ${itemBytes} bytes`
  return (
    problemOfKeys(key ?? {}, item ?? {}) ??
    problemOfNames(Object.values(names ?? {})) ??
    problemOfValue(item, 1) ??
    problemOfValue(values, 0)
  )
}

type Members = Readonly<Record<string, unknown>>

function problemOfKeys(key: Members, item: Members): string | undefined {
  const { view, place, owner } = INDEXES
  const partitions = [
    key[PRIMARY_KEY.partition],
    item[view.partition],
    item[place.partition],
    item[owner.partition],
  ]
  const sorts = [key[PRIMARY_KEY.sort], item[place.sort]]
  return (
    partitions.map(value => problemOfKey(value, PARTITION_KEY_BYTES_MAX)).find(Boolean) ??
    sorts.map(value => problemOfKey(value, SORT_KEY_BYTES_MAX)).find(Boolean)
  )
}

function problemOfKey(value: unknown, bytesMax: number): string | undefined {
  if (typeof value !== 'string') return undefined
  if (value === '') return 'an empty key'
  const bytes = Buffer.byteLength(value)
  return bytes > bytesMax ? `a key of ${bytes} bytes` : undefined
}

/**
 * Attribute names must be well-formed Unicode. DynamoDB Local fails on a name with half a surrogate pair, but
 * accepts such values and keys.
 */
function problemOfNames(names: readonly string[]): string | undefined {
  return names.every(name => name.isWellFormed()) ? undefined : 'a name that is not Unicode text'
}

/** Checks numbers and nesting at any depth. The SDK refuses numbers beyond 2^53. */
function problemOfValue(value: unknown, depth: number): string | undefined {
  if (typeof value === 'number') return problemOfNumber(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth > NESTING_MAX) return `more than ${NESTING_MAX} levels`
  const members = value instanceof Set ? [...value] : Object.values(value)
  if (depth > 0 && !Array.isArray(value)) {
    const problem = problemOfNames(Object.keys(value))
    if (problem !== undefined) return problem
  }
  for (const member of members) {
    const problem = problemOfValue(member, depth + 1)
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfNumber(value: number): string | undefined {
  if (!Number.isFinite(value) || Math.abs(value) > NUMBER_MAX) return `the number ${value}`
  return Math.abs(value) > Number.MAX_SAFE_INTEGER ? `the number ${value}, which is not safe` : undefined
}

/** The approximate size of an item. A number takes one byte for two digits. */
function bytesOf(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (typeof value === 'number') return 2 + String(value).length / 2
  if (typeof value !== 'object' || value === null) return 1
  return Object.entries(value).reduce(
    (sum, [name, member]) => sum + Buffer.byteLength(name) + bytesOf(member) + 1,
    3,
  )
}
