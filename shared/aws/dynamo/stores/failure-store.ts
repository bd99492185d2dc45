import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import { type FailureCount, failuresExpireAt } from '../../../core/events/failures.ts'
import type { FailureStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, namesOf, readAll, ttlSeconds } from '../documents.ts'
import { failureFrom, failuresPartition, failuresSortKey } from '../keys.ts'

/** Stores counts of failures in a DynamoDB table with the keys of `keys.ts`. */
export function createFailureStore(
  documents: Documents,
  { table }: { readonly table: string },
): FailureStore {
  return {
    add: async count => {
      await documents.update(addFailures(table, count))
    },
    since: async (type, hour, most) => {
      const items = await readAll(documents, queryFailures(table, type, hour), most)
      return items.map(item => countFrom(type, item))
    },
  }
}

/** Adds to the count of an hour. No guard: a repeated request counts twice. */
function addFailures(table: string, failures: FailureCount): RequestOf<'update'> {
  const { type, hour, error, count, firstAt, lastAt, exampleId } = failures
  return {
    TableName: table,
    Key: { pk: failuresPartition(type), sk: failuresSortKey(hour, error) },
    UpdateExpression:
      'SET #v = :v, #ttl = :ttl, #first = if_not_exists(#first, :first), #last = :last, #example = :example ADD #count :count',
    ExpressionAttributeNames: namesOf('v', 'ttl', 'first', 'last', 'example', 'count'),
    ExpressionAttributeValues: {
      ':v': SCHEMA_VERSION,
      ':ttl': ttlSeconds(failuresExpireAt(failures)),
      ':first': firstAt,
      ':last': lastAt,
      ':example': exampleId,
      ':count': count,
    },
  }
}

/** Reads the counts of a type from an hour on, newest first. Eventually consistent. */
function queryFailures(table: string, type: string, hour: number): RequestOf<'query'> {
  return {
    TableName: table,
    KeyConditionExpression: '#pk = :pk AND #sk >= :from',
    ExpressionAttributeNames: namesOf('pk', 'sk'),
    ExpressionAttributeValues: { ':pk': failuresPartition(type), ':from': failuresSortKey(hour, '') },
    ScanIndexForward: false,
  }
}

function countFrom(type: string, item: Item): FailureCount {
  assertKnownSchema(item)
  return {
    type,
    ...failureFrom(item.sk as string),
    count: item.count as number,
    firstAt: item.first as number,
    lastAt: item.last as number,
    exampleId: item.example as string,
  }
}
