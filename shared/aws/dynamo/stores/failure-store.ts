import { type FailureCount, failuresExpireAt } from '../../../core/events/failures.ts'
import type { FailureStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, readAll } from '../documents.ts'
import { failureFrom, failuresPartition, failuresSortKey } from '../keys.ts'
import { queryPartition, updateItem } from '../requests.ts'

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
  return updateItem(
    table,
    { pk: failuresPartition(type), sk: failuresSortKey(hour, error) },
    {
      expiresAt: failuresExpireAt(failures),
      ...{ set: { last: lastAt, example: exampleId }, first: { first: firstAt }, add: { count } },
    },
  )
}

/** Reads the counts of a type from an hour on, newest first. Eventually consistent. */
function queryFailures(table: string, type: string, hour: number): RequestOf<'query'> {
  const hours = queryPartition(table, failuresPartition(type), { from: failuresSortKey(hour, '') })
  return { ...hours, ScanIndexForward: false }
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
