import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import { type HeldPermits, type Holder, shardOf } from '../../../core/limits/held-permits.ts'
import type { SlotLog, StoredSlotLog } from '../../../core/limits/slots.ts'
import type { Releasing } from '../../../ports/stores.ts'
import {
  type BatchGetRequest,
  type GetRequest,
  METERED,
  type PutRequest,
  type UpdateRequest,
} from '../documents.ts'
import { JOINED_BY_AND } from '../expressions.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import {
  FREED_ATTRIBUTE,
  FREED_NO_WAITERS,
  NOTED_ATTRIBUTE,
  PERMITS_SORT_KEY,
  permitsPartition,
  SLOTS_SORT_KEY,
  slotsPartition,
} from '../keys.ts'
import { assertKnownSchema, type Item, SCHEMA, ttlSeconds } from '../stored-form.ts'

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_VERSION = '#version = :version'
const SAME_BOOKED_AHEAD = '#more = :more'
const HOLDS = 'attribute_exists(#holder)'
const DOES_NOT_HOLD = 'attribute_not_exists(#holder)'
const HAS_FREE_PERMIT = '(attribute_not_exists(#count) OR #count < :max)'
const NO_PERMIT_LEFT = '#count >= :max'
const HOLDS_SINCE = '#holder.#at = :since'
const NO_NOTE = 'attribute_not_exists(#waits)'
const SAME_NOTE = '#waits = :seen'
const NO_FRESH_NOTE = '(attribute_not_exists(#waits) OR #waits <= :stale)'

/**
 * The item of the permits is kept this long after the last permit or renewed note, far longer than the longest run. Heartbeats do
 * not renew it.
 */
const PERMITS_LIFE_MS = 60 * 86_400_000
/** The beginning of each attribute that names a permit holder. */
const HOLDER_PREFIX = 'h~'

/** Attributes that report a write of the permits to the stream. The next write removes them, so each record shows one write. */
const REPORTS = { '#freed': FREED_ATTRIBUTE, '#noted': NOTED_ATTRIBUTE } as const
const REPORT_NAMES = '#freed, #noted'

function slotsKey(limit: string) {
  return { pk: slotsPartition(limit), sk: SLOTS_SORT_KEY }
}

function permitsKey(limit: string, shard = 0) {
  return { pk: permitsPartition(limit, shard), sk: PERMITS_SORT_KEY }
}

/** Reads the slot log of a rate limit. Strongly consistent. */
export function getSlots(table: string, limit: string): GetRequest {
  return { ...METERED, TableName: table, Key: slotsKey(limit), ConsistentRead: true }
}

/** Writes the slot log of a rate limit. Guard: the stored log is the one that was seen. Version 0 means that none is stored. */
export function putSlots(
  table: string,
  limit: string,
  { limit: startsMax, perMs, counts }: SlotLog,
  {
    seen,
    expiresAt,
    writeId,
  }: { readonly seen: StoredSlotLog; readonly expiresAt: number; readonly writeId: string },
): PutRequest {
  const put = {
    ...METERED,
    TableName: table,
    Item: {
      ...slotsKey(limit),
      ...SCHEMA,
      version: seen.version + 1,
      json: JSON.stringify([startsMax, perMs, counts.flat()]),
      more: 0,
      [WRITE_ID_ATTRIBUTE]: writeId,
      ttl: ttlSeconds(expiresAt),
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const
  if (seen.version === 0) {
    return { ...put, ConditionExpression: NOTHING_THERE, ExpressionAttributeNames: { '#pk': 'pk' } }
  }
  return {
    ...put,
    ConditionExpression: [SAME_VERSION, SAME_BOOKED_AHEAD].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#version': 'version', '#more': 'more' },
    ExpressionAttributeValues: { ':version': seen.version, ':more': seen.log?.bookedAhead ?? 0 },
  }
}

/** Adds to the number of slots that are booked ahead of the log. Guard: the log still has this version. */
export function countSlots(
  table: string,
  limit: string,
  version: number,
  { count, expiresAt }: { readonly count: number; readonly expiresAt: number },
): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: slotsKey(limit),
    UpdateExpression: 'SET #ttl = :ttl ADD #more :count',
    ConditionExpression: SAME_VERSION,
    ExpressionAttributeNames: { '#version': 'version', '#more': 'more', '#ttl': 'ttl' },
    ExpressionAttributeValues: { ':version': version, ':count': count, ':ttl': ttlSeconds(expiresAt) },
    ReturnValues: 'UPDATED_NEW',
  }
}

export function slotsFromItem(item: Item | undefined): StoredSlotLog {
  if (!item) return { log: undefined, version: 0 }
  assertKnownSchema(item)
  const [limit, perMs, flat] = JSON.parse(item.json as string) as [number, number, number[]]
  const counts = Array.from(
    { length: flat.length / 2 },
    (_, nth) => [flat[2 * nth] ?? 0, flat[2 * nth + 1] ?? 0] as const,
  )
  return {
    log: { limit, perMs, counts, bookedAhead: item.more as number },
    version: item.version as number,
  }
}

/** Reads at most 100 different shards of the permits of a concurrency limit. Strongly consistent. */
export function batchGetPermits(table: string, limit: string, shards: readonly number[]): BatchGetRequest {
  const Keys = shards.map(shard => permitsKey(limit, shard))
  return { ...METERED, RequestItems: { [table]: { Keys, ConsistentRead: true } } }
}

/** Records a permit holder in its shard. Guard: fewer than `max` hold a permit of the shard, and this holder holds none. */
export function acquirePermit(
  table: string,
  limit: string,
  { holder, taskId, since }: Holder,
  max: number,
): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit, shardOf(holder)),
    UpdateExpression: `SET #holder = :held, #v = :v, #ttl = :ttl REMOVE ${REPORT_NAMES} ADD #count :one`,
    ConditionExpression: [DOES_NOT_HOLD, HAS_FREE_PERMIT].join(JOINED_BY_AND),
    ExpressionAttributeNames: {
      ...REPORTS,
      '#holder': HOLDER_PREFIX + holder,
      '#v': 'v',
      '#ttl': 'ttl',
      '#count': 'count',
    },
    ExpressionAttributeValues: {
      ':held': { of: taskId, at: since },
      ':v': SCHEMA_VERSION,
      ':ttl': ttlSeconds(since + PERMITS_LIFE_MS),
      ':one': 1,
      ':max': max,
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/**
 * Removes a permit holder. Guard: the holder is recorded, with the time `since` if that is given. Without `since`, the write
 * reports to the stream that a permit is free. A look gives `since` to remove a stale holder, and admits the next task itself.
 * `waitNotedAt` is the note that tasks wait as the caller has read it; shard 0 has the note itself.
 */
export function releasePermit(
  table: string,
  limit: string,
  holder: string,
  { since, waitNotedAt = FREED_NO_WAITERS }: Releasing,
): UpdateRequest {
  const isSince = since !== undefined
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit, shardOf(holder)),
    UpdateExpression: isSince
      ? `REMOVE #holder, ${REPORT_NAMES} ADD #count :less`
      : 'SET #freed = if_not_exists(#waits, :waits) REMOVE #holder, #noted ADD #count :less',
    ConditionExpression: isSince ? [HOLDS, HOLDS_SINCE].join(JOINED_BY_AND) : HOLDS,
    ExpressionAttributeNames: {
      '#holder': HOLDER_PREFIX + holder,
      '#count': 'count',
      ...REPORTS,
      ...(isSince ? { '#at': 'at' } : { '#waits': 'waits' }),
    },
    ExpressionAttributeValues: {
      ':less': -1,
      ...(isSince ? { ':since': since } : { ':waits': waitNotedAt }),
    },
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Records `now` as the time of a permit holder. Guard: the holder is recorded. */
export function renewPermit(table: string, limit: string, holder: string, now: number): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit, shardOf(holder)),
    UpdateExpression: `SET #holder.#at = :now REMOVE ${REPORT_NAMES}`,
    ConditionExpression: HOLDS,
    ExpressionAttributeNames: { ...REPORTS, '#holder': HOLDER_PREFIX + holder, '#at': 'at' },
    ExpressionAttributeValues: { ':now': now },
  }
}

/**
 * Notes that a task waits, and reports it to the stream, so that looks at the limit begin. Guard: shard 0 has no permit left
 * of its `max`, and there is no note later than `staleAt`.
 */
export function noteWaiting(
  table: string,
  limit: string,
  now: number,
  { max, staleAt }: { readonly max: number; readonly staleAt: number },
): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: 'SET #waits = :now, #noted = :now REMOVE #freed',
    ConditionExpression: [NO_PERMIT_LEFT, NO_FRESH_NOTE].join(JOINED_BY_AND),
    ExpressionAttributeNames: { ...REPORTS, '#waits': 'waits', '#count': 'count' },
    ExpressionAttributeValues: { ':now': now, ':max': max, ':stale': staleAt },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Renews the note that tasks wait. Guard: the note is the one that was seen, or there is none where `seen` is undefined. */
export function renewWaiting(
  table: string,
  limit: string,
  now: number,
  seen: number | undefined,
): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: `SET #waits = :now, #v = :v, #ttl = :ttl REMOVE ${REPORT_NAMES}`,
    ConditionExpression: seen === undefined ? NO_NOTE : SAME_NOTE,
    ExpressionAttributeNames: { ...REPORTS, '#waits': 'waits', '#v': 'v', '#ttl': 'ttl' },
    ExpressionAttributeValues: {
      ':now': now,
      ':v': SCHEMA_VERSION,
      ':ttl': ttlSeconds(now + PERMITS_LIFE_MS),
      ...(seen !== undefined && { ':seen': seen }),
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Removes the note that tasks wait. Guard: the note still has the time `since`. */
export function clearWaiting(table: string, limit: string, since: number): UpdateRequest {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: `REMOVE #waits, ${REPORT_NAMES}`,
    ConditionExpression: SAME_NOTE,
    ExpressionAttributeNames: { ...REPORTS, '#waits': 'waits' },
    ExpressionAttributeValues: { ':seen': since },
  }
}

export function permitsFromItem(item: Item | undefined): HeldPermits {
  return item ? permitsFromItems([item]) : { holders: [] }
}

/** The holders in these shards, and the wait note if shard 0 is among them. */
export function permitsFromItems(items: readonly Item[]): HeldPermits {
  for (const item of items) assertKnownSchema(item)
  const holders = items.flatMap(holdersIn)
  const waits = items.find(item => item.waits !== undefined)?.waits as number | undefined
  return { holders, ...(waits !== undefined && { waitNotedAt: waits }) }
}

function holdersIn(item: Item): Holder[] {
  return Object.entries(item).flatMap(([name, value]) => {
    if (!name.startsWith(HOLDER_PREFIX)) return []
    const { of: taskId, at: since } = value as { of: string; at: number }
    return [{ holder: name.slice(HOLDER_PREFIX.length), taskId, since }]
  })
}
