import type { GetCommandInput, PutCommandInput, UpdateCommandInput } from '@aws-sdk/lib-dynamodb'
import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import type { HeldPermits, Holder } from '../../../core/limits/held-permits.ts'
import type { SlotLog, StoredSlots } from '../../../core/limits/slots.ts'
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
import { METERED } from '../sending.ts'
import { assertKnownSchema, type Item, SCHEMA, ttlSeconds } from '../stored-form.ts'

const NOTHING_THERE = 'attribute_not_exists(#pk)'
const SAME_VERSION = '#version = :version'
const SAME_COUNT = '#more = :more'
const HOLDS = 'attribute_exists(#holder)'
const HOLDS_NOT = 'attribute_not_exists(#holder)'
const HAS_ROOM = '(attribute_not_exists(#count) OR #count < :max)'
const USED_UP = '#count >= :max'
const HOLDS_SINCE = '#holder.#at = :since'
const NO_NOTE = 'attribute_not_exists(#waits)'
const SAME_NOTE = '#waits = :seen'
const NO_NOTE_THAT_HOLDS = '(attribute_not_exists(#waits) OR #waits <= :stale)'

/** Permits outlive the longest run by far; heartbeats do not renew them. */
const PERMITS_LIFE_MS = 60 * 86_400_000
/** Attributes that name holders begin so. */
const HOLDER_MARK = 'h~'

/** What a write of the permits tells the stream is gone with the next write: each record shows its own write only. */
const TOLD = { '#freed': FREED_ATTRIBUTE, '#noted': NOTED_ATTRIBUTE } as const
const TELLS_NOTHING = '#freed, #noted'

function startsKey(limit: string) {
  return { pk: slotsPartition(limit), sk: SLOTS_SORT_KEY }
}

function permitsKey(limit: string) {
  return { pk: permitsPartition(limit), sk: PERMITS_SORT_KEY }
}

/** Strongly consistent. */
export function getSlots(table: string, limit: string): GetCommandInput {
  return { ...METERED, TableName: table, Key: startsKey(limit), ConsistentRead: true }
}

/** Guard: what is stored is what was seen; version 0 means that nothing is. */
export function putSlots(
  table: string,
  limit: string,
  { limit: most, perMs, slots: starts }: SlotLog,
  {
    seen,
    expiresAt,
    token,
  }: { readonly seen: StoredSlots; readonly expiresAt: number; readonly token: string },
): PutCommandInput {
  const put = {
    ...METERED,
    TableName: table,
    Item: {
      ...startsKey(limit),
      ...SCHEMA,
      version: seen.version + 1,
      json: JSON.stringify([most, perMs, starts.flat()]),
      more: 0,
      [WRITE_ID_ATTRIBUTE]: token,
      ttl: ttlSeconds(expiresAt),
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  } as const
  if (seen.version === 0) {
    return { ...put, ConditionExpression: NOTHING_THERE, ExpressionAttributeNames: { '#pk': 'pk' } }
  }
  return {
    ...put,
    ConditionExpression: [SAME_VERSION, SAME_COUNT].join(JOINED_BY_AND),
    ExpressionAttributeNames: { '#version': 'version', '#more': 'more' },
    ExpressionAttributeValues: { ':version': seen.version, ':more': seen.log?.bookedAhead ?? 0 },
  }
}

/** Guard: the log is still of this version. */
export function countSlots(
  table: string,
  limit: string,
  version: number,
  { count, expiresAt }: { readonly count: number; readonly expiresAt: number },
): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: startsKey(limit),
    UpdateExpression: 'SET #ttl = :ttl ADD #more :count',
    ConditionExpression: SAME_VERSION,
    ExpressionAttributeNames: { '#version': 'version', '#more': 'more', '#ttl': 'ttl' },
    ExpressionAttributeValues: { ':version': version, ':count': count, ':ttl': ttlSeconds(expiresAt) },
    ReturnValues: 'UPDATED_NEW',
  }
}

export function slotsFromItem(item: Item | undefined): StoredSlots {
  if (!item) return { log: undefined, version: 0 }
  assertKnownSchema(item)
  const [limit, perMs, flat] = JSON.parse(item.json as string) as [number, number, number[]]
  const starts = Array.from(
    { length: flat.length / 2 },
    (_, nth) => [flat[2 * nth] ?? 0, flat[2 * nth + 1] ?? 0] as const,
  )
  return {
    log: { limit, perMs, slots: starts, bookedAhead: item.more as number },
    version: item.version as number,
  }
}

/** Strongly consistent. */
export function getPermits(table: string, limit: string): GetCommandInput {
  return { ...METERED, TableName: table, Key: permitsKey(limit), ConsistentRead: true }
}

/** Guard: fewer than `max` are recorded, and this one is not. */
export function acquirePermit(
  table: string,
  limit: string,
  { holder, taskId, since }: Holder,
  max: number,
): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: `SET #holder = :held, #v = :v, #ttl = :ttl REMOVE ${TELLS_NOTHING} ADD #count :one`,
    ConditionExpression: [HOLDS_NOT, HAS_ROOM].join(JOINED_BY_AND),
    ExpressionAttributeNames: {
      ...TOLD,
      '#holder': HOLDER_MARK + holder,
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
 * Guard: the holder is recorded, and where `since` is given since then. Tells the stream that a permit is free, unless a
 * look takes a stale holder out, which admits the next task itself.
 */
export function releasePermit(
  table: string,
  limit: string,
  holder: string,
  since?: number,
): UpdateCommandInput {
  const isSince = since !== undefined
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: isSince
      ? `REMOVE #holder, ${TELLS_NOTHING} ADD #count :less`
      : 'SET #freed = if_not_exists(#waits, :nobody) REMOVE #holder, #noted ADD #count :less',
    ConditionExpression: isSince ? [HOLDS, HOLDS_SINCE].join(JOINED_BY_AND) : HOLDS,
    ExpressionAttributeNames: {
      '#holder': HOLDER_MARK + holder,
      '#count': 'count',
      ...TOLD,
      ...(isSince ? { '#at': 'at' } : { '#waits': 'waits' }),
    },
    ExpressionAttributeValues: {
      ':less': -1,
      ...(isSince ? { ':since': since } : { ':nobody': FREED_NO_WAITERS }),
    },
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Guard: the holder is recorded. */
export function renewPermit(table: string, limit: string, holder: string, now: number): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: `SET #holder.#at = :now REMOVE ${TELLS_NOTHING}`,
    ConditionExpression: HOLDS,
    ExpressionAttributeNames: { ...TOLD, '#holder': HOLDER_MARK + holder, '#at': 'at' },
    ExpressionAttributeValues: { ':now': now },
  }
}

/** Guard: no permit is left, and no note later than `staleAt` is there. Tells the stream that looks must begin. */
export function noteWaiting(
  table: string,
  limit: string,
  now: number,
  { max, staleAt }: { readonly max: number; readonly staleAt: number },
): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: 'SET #waits = :now, #noted = :now REMOVE #freed',
    ConditionExpression: [USED_UP, NO_NOTE_THAT_HOLDS].join(JOINED_BY_AND),
    ExpressionAttributeNames: { ...TOLD, '#waits': 'waits', '#count': 'count' },
    ExpressionAttributeValues: { ':now': now, ':max': max, ':stale': staleAt },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Guard: nobody has noted it again since; undefined: nobody has noted it. */
export function renewWaiting(
  table: string,
  limit: string,
  now: number,
  seen: number | undefined,
): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: `SET #waits = :now, #v = :v, #ttl = :ttl REMOVE ${TELLS_NOTHING}`,
    ConditionExpression: seen === undefined ? NO_NOTE : SAME_NOTE,
    ExpressionAttributeNames: { ...TOLD, '#waits': 'waits', '#v': 'v', '#ttl': 'ttl' },
    ExpressionAttributeValues: {
      ':now': now,
      ':v': SCHEMA_VERSION,
      ':ttl': ttlSeconds(now + PERMITS_LIFE_MS),
      ...(seen !== undefined && { ':seen': seen }),
    },
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Guard: nobody has noted it again since. */
export function clearWaiting(table: string, limit: string, since: number): UpdateCommandInput {
  return {
    ...METERED,
    TableName: table,
    Key: permitsKey(limit),
    UpdateExpression: `REMOVE #waits, ${TELLS_NOTHING}`,
    ConditionExpression: SAME_NOTE,
    ExpressionAttributeNames: { ...TOLD, '#waits': 'waits' },
    ExpressionAttributeValues: { ':seen': since },
  }
}

export function permitsFromItem(item: Item | undefined): HeldPermits {
  if (!item) return { holders: [] }
  assertKnownSchema(item)
  const holders = Object.entries(item).flatMap(([name, value]) => {
    if (!name.startsWith(HOLDER_MARK)) return []
    const { of: taskId, at: since } = value as { of: string; at: number }
    return [{ holder: name.slice(HOLDER_MARK.length), taskId, since }]
  })
  const { waits } = item as { waits?: number }
  return { holders, ...(waits !== undefined && { waitsSince: waits }) }
}
