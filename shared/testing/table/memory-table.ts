/**
 * A DynamoDB table in memory, for the testing kit and the simulation. It evaluates the requests that the stores of `shared/aws/dynamo`
 * build, so the system's guards and merges are written once.
 *
 * - `expressions.ts`, `updates.ts`: read expressions
 * - `requests.ts`: what DynamoDB checks in a request, and what a write makes of an item
 * - `contents.ts`, `queries.ts`: the items of the table and its indexes, and their pages
 * - `values.ts`: kinds, order and sizes of values
 *
 * The table refuses what DynamoDB refuses, and by name what it does not know. `test/contract/table` holds it to DynamoDB Local. Items are
 * never changed once they are stored, so the table hands out its own.
 */

import type { Documents, Item, RequestOf, Written } from '../../aws/dynamo/documents.ts'
import { unstorable } from '../../aws/dynamo/documents.ts'
import { INDEXES, PRIMARY_KEY } from '../../aws/dynamo/keys.ts'
import { type ContentSettings, type Contents, createContents, type ItemChange, type Key } from './contents.ts'
import { pageOf, positionOf } from './queries.ts'
import { assertItem, assertKnown, keyOf, readWrite } from './requests.ts'
import { RefusedRequest, UnknownPart } from './values.ts'

export type TableSettings = ContentSettings & {
  readonly name: string
  /** Called with what a request has read. */
  readonly onRead?: (read: Read) => void
}

/** What a request has read: the items, or the entries of an index. */
type Read = {
  readonly items: readonly Item[]
  readonly isConsistent: boolean
  readonly index?: string | undefined
}

export type Write = RequestOf<'put'> | RequestOf<'update'> | RequestOf<'delete'>

export type MemoryTable = Pick<Contents, 'find' | 'items' | 'write' | 'expire'> & {
  /** Answers the requests of stores at once. */
  readonly documents: Documents
  /** Judges a write without making it. */
  plan(request: Write): Plan
}

export function createMemoryTable(settings: TableSettings): MemoryTable {
  const { name, onRead } = settings
  const contents = createContents(settings)
  const { find } = contents
  const carryOut = (request: Write): Written => {
    const plan = planOf(name, request, find)
    if (!plan.holds()) return { isWritten: false, item: plan.refusal() }
    const change = plan.change()
    contents.write(change)
    return { isWritten: true, item: plan.answer(change) }
  }
  const storing = async (request: Write): Promise<Written> => {
    try {
      return carryOut(request)
    } catch (error) {
      throw error instanceof RefusedRequest ? unstorable(error) : error
    }
  }
  const read = (key: Item, isConsistent = false) => {
    const { pk, sk } = keyOf(key)
    const item = (isConsistent ? contents : contents.reads).find(pk, sk)
    onRead?.({ items: item ? [item] : [], isConsistent })
    return item
  }
  return {
    ...contents,
    documents: {
      get: async request => {
        assertKnown(request, name, GET)
        return read(request.Key, request.ConsistentRead)
      },
      put: storing,
      update: storing,
      delete: async request => carryOut(request),
      query: async request => {
        assertKnown(request, name, QUERY)
        return query(contents, request, onRead)
      },
      batchGet: async request => {
        const { Keys, ConsistentRead } = requestedOf(request, name)
        const items = Keys.map(key => read(key, ConsistentRead)).filter(item => item !== undefined)
        return { items, left: undefined }
      },
    },
    plan: request => planOf(name, request, find),
  }
}

function query(
  { stored, reads, indexes }: Contents,
  request: RequestOf<'query'>,
  onRead: TableSettings['onRead'],
) {
  const { IndexName: name, ConsistentRead: isConsistent = false } = request
  const index = Object.values(INDEXES).find(one => one.name === name)
  if (name !== undefined && !index) throw new UnknownPart(`the index ${name}`)
  if (index && isConsistent)
    throw new RefusedRequest('Consistent reads are not supported on secondary indexes')
  const items = isConsistent ? stored : reads
  const page = pageOf(
    index ? indexes[index.name] : items,
    index ?? { ...PRIMARY_KEY, sortType: 'S' },
    request,
  )
  const found = index ? page.items.map(item => positionOf(item, index)) : page.items
  onRead?.({ items: found, isConsistent, index: index?.name })
  return { ...page, items: request.Select === 'COUNT' ? [] : found }
}

const BATCH_KEYS_MAX = 100
const CONDITION = [
  ...['TableName', 'ConditionExpression', 'ExpressionAttributeNames', 'ExpressionAttributeValues'],
  'ReturnValuesOnConditionCheckFailure',
]
const GET = ['TableName', 'Key', 'ConsistentRead']
const PUT = [...CONDITION, 'Item']
const DELETE = [...CONDITION, 'Key']
const UPDATE = [...CONDITION, 'Key', 'UpdateExpression', 'ReturnValues']
const QUERY = [
  ...[
    'TableName',
    'IndexName',
    'KeyConditionExpression',
    'ExpressionAttributeNames',
    'ExpressionAttributeValues',
  ],
  ...['ConsistentRead', 'ScanIndexForward', 'Select', 'Limit', 'ExclusiveStartKey'],
]

/** A write before it is made. `change` throws RefusedRequest when the item that it makes cannot be stored. */
type Plan = {
  readonly key: Key
  holds(): boolean
  /** The stored item, if the request asks for it when its condition does not hold. */
  refusal(): Item | undefined
  change(): ItemChange
  /** The item after the change, as far as the request asks for it. */
  answer(change: ItemChange): Item | undefined
}

function planOf(table: string, request: Write, find: Contents['find']): Plan {
  const isPut = 'Item' in request
  assertKnown(request, table, isPut ? PUT : 'UpdateExpression' in request ? UPDATE : DELETE)
  const { pk, sk } = keyOf(isPut ? request.Item : request.Key, isPut)
  if (isPut) assertItem(request.Item)
  const { holds, updated, paths } = readWrite(request)
  const before = find(pk, sk)
  const key = { pk, sk }
  return {
    key,
    holds: () => holds(before),
    refusal: () => (request.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' ? before : undefined),
    change: () => {
      if (isPut) return { key, before, after: request.Item }
      if (!('UpdateExpression' in request)) return { key, before, after: undefined }
      return { key, before, after: updated(before, key) }
    },
    answer: ({ after }) => returned(request, after, paths),
  }
}

function returned(
  request: Write,
  after: Item | undefined,
  paths: ReadonlyArray<readonly string[]>,
): Item | undefined {
  const wanted = 'ReturnValues' in request ? request.ReturnValues : undefined
  if (wanted === 'ALL_NEW') return after
  if (wanted !== 'UPDATED_NEW' || !after) return undefined
  if (paths.some(path => path.length > 1)) throw new UnknownPart('UPDATED_NEW of a path in a map')
  const updated = Object.entries(after).filter(([name]) => paths.some(([changed]) => changed === name))
  return updated.length > 0 ? Object.fromEntries(updated) : undefined
}

function requestedOf(request: RequestOf<'batchGet'>, table: string) {
  assertKnown(request, table, ['RequestItems'])
  const { [table]: requested, ...others } = request.RequestItems
  if (!requested || Object.keys(others).length > 0) throw new UnknownPart('a batch of other tables')
  assertKnown(requested, table, ['Keys', 'ConsistentRead'])
  const { length } = requested.Keys
  const different = new Set(requested.Keys.map(({ pk, sk }) => JSON.stringify([pk, sk])))
  if (length === 0 || length > BATCH_KEYS_MAX || different.size < length) {
    throw new RefusedRequest(`a batch reads between 1 and ${BATCH_KEYS_MAX} different keys`)
  }
  return requested
}
