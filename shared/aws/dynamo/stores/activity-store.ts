import { ACTIVITY_KINDS, type ActivityCount, activityExpiresAt } from '../../../core/events/activity.ts'
import type { ActivityStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema } from '../documents.ts'
import { activityPartition, activitySortKey } from '../keys.ts'
import { queryPartition, updateItem } from '../requests.ts'

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
      const minutes = { from: activitySortKey(minute) }
      const { items } = await documents.query(queryPartition(table, activityPartition(type), minutes))
      return items.map(item => countFrom(type, item))
    },
  }
}

/** Adds to the counts of a minute. No guard: a repeated request counts twice. */
function addActivity(table: string, count: ActivityCount): RequestOf<'update'> {
  const late = Object.entries(count.lateness).map(([nth, runs]) => [LATENESS_PREFIX + nth, runs] as const)
  return updateItem(
    table,
    { pk: activityPartition(count.type), sk: activitySortKey(count.minute) },
    { expiresAt: activityExpiresAt(count), add: { ...count.counts, ...Object.fromEntries(late) } },
  )
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
