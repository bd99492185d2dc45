import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import { ACTIVITY_KINDS, type ActivityCount, activityExpiresAt } from '../../../core/events/activity.ts'
import type { ActivityStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, namesOf, ttlSeconds } from '../documents.ts'
import { activityPartition, activitySortKey } from '../keys.ts'

/** The beginning of each attribute that counts the runs of one class of lateness. */
const LATENESS_PREFIX = 'late'

/** Stores the activity of types in a DynamoDB table with the keys of `keys.ts`. */
export function createActivityStore(
  documents: Documents,
  { table }: { readonly table: string },
): ActivityStore {
  return {
    add: async count => {
      await documents.update(addActivity(table, count))
    },
    // Two hours of minutes have some 30 KB, so one page holds them.
    since: async (type, minute) => {
      const request = queryActivity(table, type, minute)
      const { items } = await documents.query(request)
      return items.map(item => countFrom(type, item))
    },
  }
}

/** Adds to the counts of a minute. No guard: a repeated request counts twice. */
function addActivity(table: string, count: ActivityCount): RequestOf<'update'> {
  const added = [
    ...Object.entries(count.counts),
    ...Object.entries(count.lateness).map(([nth, runs]) => [LATENESS_PREFIX + nth, runs] as const),
  ]
  const names = added.map(([name], nth) => [`#n${nth}`, name] as const)
  const values = added.map(([, value], nth) => [`:n${nth}`, value] as const)
  return {
    TableName: table,
    Key: { pk: activityPartition(count.type), sk: activitySortKey(count.minute) },
    UpdateExpression: `SET #v = :v, #ttl = :ttl ADD ${added.map((_, nth) => `#n${nth} :n${nth}`).join(', ')}`,
    ExpressionAttributeNames: { '#v': 'v', '#ttl': 'ttl', ...Object.fromEntries(names) },
    ExpressionAttributeValues: {
      ':v': SCHEMA_VERSION,
      ':ttl': ttlSeconds(activityExpiresAt(count)),
      ...Object.fromEntries(values),
    },
  }
}

/** Reads the minutes of a type from one on, oldest first. Eventually consistent. */
function queryActivity(table: string, type: string, minute: number): RequestOf<'query'> {
  return {
    TableName: table,
    KeyConditionExpression: '#pk = :pk AND #sk >= :from',
    ExpressionAttributeNames: namesOf('pk', 'sk'),
    ExpressionAttributeValues: { ':pk': activityPartition(type), ':from': activitySortKey(minute) },
  }
}

function countFrom(type: string, item: Item): ActivityCount {
  assertKnownSchema(item)
  const lateness = Object.entries(item)
    .filter(([name]) => name.startsWith(LATENESS_PREFIX))
    .map(([name, runs]) => [name.slice(LATENESS_PREFIX.length), runs as number] as const)
  return {
    type,
    minute: Number(item.sk),
    counts: Object.fromEntries(
      ACTIVITY_KINDS.flatMap(kind => (item[kind] === undefined ? [] : [[kind, item[kind] as number]])),
    ),
    lateness: Object.fromEntries(lateness),
  }
}
