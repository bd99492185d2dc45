import type { IndexEntry, IndexQuery, IndexRange } from '../../ports/stores.ts'
import { type Expression, type Item, JOINED_BY_AND, type RequestOf } from './documents.ts'
import { HEAD_SORT_KEY, INDEXES } from './keys.ts'

const IN_PARTITION = '#partition = :partition'
const FROM_TO = '#sort BETWEEN :from AND :to'
const FROM = '#sort >= :from'
const UP_TO = '#sort <= :to'

/** Reads one page of an index partition. Eventually consistent, as all reads of secondary indexes are. */
export function queryIndex(table: string, query: IndexQuery): RequestOf<'query'> {
  return {
    ...rangeOf(table, query),
    ScanIndexForward: !query.descending,
    Limit: query.limit,
    ...(query.after && { ExclusiveStartKey: positionOf(query, query.after) }),
  }
}

/** Counts the entries in a range. One request counts at most 1 MB of keys. */
export function countIndex(table: string, range: IndexRange): RequestOf<'query'> {
  return { ...rangeOf(table, range), Select: 'COUNT' }
}

/**
 * The query in a form that DynamoDB accepts. DynamoDB refuses bounds in the wrong order, and positions out of bounds. Undefined
 * when no entry can match.
 */
export function withinBounds(query: IndexQuery): IndexQuery | undefined {
  const { from, to, after, descending } = query
  if (from !== undefined && to !== undefined && from > to) return undefined
  const isBelow = after !== undefined && from !== undefined && after.sort < from
  const isAbove = after !== undefined && to !== undefined && after.sort > to
  if (descending ? isBelow : isAbove) return undefined
  const { after: _after, ...fromTheStart } = query
  return isBelow || isAbove ? fromTheStart : query
}

export function entryFrom(index: IndexRange['index'], item: Item): IndexEntry {
  return { id: item.pk as string, sort: item[INDEXES[index].sort] as number | string }
}

function rangeOf(table: string, range: IndexRange): RequestOf<'query'> {
  const { name, partition, sort } = INDEXES[range.index]
  const bounds = boundsOf(range)
  return {
    TableName: table,
    IndexName: name,
    KeyConditionExpression: [IN_PARTITION, ...(bounds ? [bounds.text] : [])].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#partition': partition, ...(bounds && { '#sort': sort }) },
    ExpressionAttributeValues: { ':partition': range.partition, ...bounds?.values },
  }
}

function boundsOf({ from, to }: IndexRange): Omit<Expression, 'names'> | undefined {
  if (from !== undefined && to !== undefined) return { text: FROM_TO, values: { ':from': from, ':to': to } }
  if (from !== undefined) return { text: FROM, values: { ':from': from } }
  if (to !== undefined) return { text: UP_TO, values: { ':to': to } }
  return undefined
}

function positionOf({ index, partition }: IndexRange, { id, sort }: IndexEntry): Item {
  const keys = INDEXES[index]
  return { pk: id, sk: HEAD_SORT_KEY, [keys.partition]: partition, [keys.sort]: sort }
}
