import { SCHEMA_VERSION } from '../../../core/bounds.ts'
import { type HeldPermits, type Holder, shardOf } from '../../../core/limits/limits.ts'
import type { Line, LineNote, StoredLineNote } from '../../../core/limits/line.ts'
import type { SlotLog, StoredSlotLog } from '../../../core/limits/slots.ts'
import { hash32, orderNumber } from '../../../core/values/text.ts'
import type { Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, JOINED_BY_AND, namesOf, SCHEMA, ttlSeconds } from '../documents.ts'
import { WRITE_ID_ATTRIBUTE } from '../head/head-requests.ts'
import * as keys from '../keys.ts'
import { getItem, ifVersion } from '../requests.ts'

const HOLDS = 'attribute_exists(#holder)'
const DOES_NOT_HOLD = 'attribute_not_exists(#holder)'
const HAS_FREE_PERMIT = '(attribute_not_exists(#count) OR #count < :max)'
const HOLDS_SINCE = '#holder.#at = :since'

/**
 * The item of the permits is kept this long after the last permit or renewed note, far longer than the longest run. Heartbeats do
 * not renew it.
 */
const PERMITS_LIFE_MS = 60 * 86_400_000
/** The beginning of each attribute that names a permit holder. */
const HOLDER_PREFIX = 'h~'

/** The attribute that reports a freed permit to the stream. The next write removes it, so each record shows one write. */
const REPORTS = { '#freed': keys.FREED_ATTRIBUTE } as const
const REPORT_NAMES = '#freed'

function slotsKey(limit: string) {
  return { pk: keys.slotsPartition(limit), sk: keys.SLOTS_SORT_KEY }
}

function lineKey({ kind, limit }: Line) {
  return { pk: keys.slotsPartition(limit), sk: keys.LINE_SORT_KEYS[kind] }
}

function permitsKey(limit: string, shard = 0) {
  return { pk: keys.permitsPartition(limit, shard), sk: keys.PERMITS_SORT_KEY }
}

/** Reads the slot log of a rate limit. Strongly consistent. */
export function getSlots(table: string, limit: string): RequestOf<'get'> {
  return getItem(table, slotsKey(limit))
}

type VersionedWrite = { readonly version: number; readonly writeId: string; readonly expiresAt: number }

function versioned(
  table: string,
  item: Item,
  { version, writeId, expiresAt }: VersionedWrite,
): RequestOf<'put'> {
  const meta = { version: version + 1, [WRITE_ID_ATTRIBUTE]: writeId, ttl: ttlSeconds(expiresAt) }
  return { TableName: table, Item: { ...item, ...SCHEMA, ...meta }, ...ifVersion(version) }
}

/**
 * Writes the slot log of a rate limit. Guard: the stored log is the one that was seen. `returned`: how many slots the write gives back,
 * which it reports to the stream.
 */
export function putSlots(
  table: string,
  limit: string,
  { limit: startsMax, perMs, counts, granted, from }: SlotLog,
  { returned, ...write }: VersionedWrite & { readonly returned: number },
): RequestOf<'put'> {
  // Parts are stored as distances, since a part has twelve digits.
  const flat = counts.flatMap(([part, count], nth) => [part - (counts[nth - 1]?.[0] ?? 0), count])
  const json = JSON.stringify([startsMax, perMs, flat, granted, ...(from === undefined ? [] : [from])])
  const report = returned > 0 ? { [keys.FREED_ATTRIBUTE]: returned } : {}
  return versioned(table, { ...slotsKey(limit), json, ...report }, write)
}

type StoredSlots = [limit: number, perMs: number, flat: number[], granted?: number, from?: number]

export function slotsFromItem(item: Item | undefined): StoredSlotLog {
  if (!item) return { log: undefined, version: 0 }
  assertKnownSchema(item)
  // A log that an earlier version wrote has parts instead of distances, and counts no granted slots.
  const [limit, perMs, flat, granted, from] = JSON.parse(item.json as string) as StoredSlots
  let part = 0
  const counts = Array.from({ length: flat.length / 2 }, (_, nth) => {
    part = (granted === undefined ? 0 : part) + (flat[2 * nth] ?? 0)
    return [part, flat[2 * nth + 1] ?? 0] as const
  })
  const log = { limit, perMs, counts, granted: granted ?? 0, ...(from !== undefined && { from }) }
  return { log, version: item.version as number }
}

/** Reads the note of a line. Strongly consistent. */
export function getLine(table: string, line: Line): RequestOf<'get'> {
  return getItem(table, lineKey(line))
}

/** The index entry of a note changes only every 15 s, since each change of it costs 2 write units. */
const LOOK_STEP_MS = 15_000

/** Writes the note of a line. Guard: the stored note is the one that was seen. */
export function putLine(
  table: string,
  line: Line,
  { lookAt, isClosed, emptyLooks, sent }: LineNote,
  { isNoted, ...write }: Omit<VersionedWrite, 'expiresAt'> & { readonly isNoted: boolean },
): RequestOf<'put'> {
  const { pk, sk } = lineKey(line)
  const batches = sent.map(({ at, times, count, granted, ids }) => [at, times, count, granted, ids.join(' ')])
  const item = {
    ...{ pk, sk, json: JSON.stringify([lookAt, isClosed ? 1 : 0, emptyLooks, batches]) },
    [keys.INDEXES.place.partition]: keys.linesPlace(hash32(line.limit) % keys.LINE_SHARDS),
    [keys.INDEXES.place.sort]: orderNumber(Math.ceil(lookAt / LOOK_STEP_MS) * LOOK_STEP_MS),
    ...(isNoted && { [keys.NOTED_ATTRIBUTE]: lookAt }),
  }
  return versioned(table, item, { ...write, expiresAt: lookAt + PERMITS_LIFE_MS })
}

/** Removes the note of a line. Guard: the stored note is the one that was seen. */
export function deleteLine(table: string, line: Line, version: number): RequestOf<'delete'> {
  return { TableName: table, Key: lineKey(line), ...ifVersion(version) }
}

/** Lists the lines in one partition whose next look should have come before a time. */
export function queryLines(table: string, shard: number, before: number, limit: number): RequestOf<'query'> {
  return {
    TableName: table,
    IndexName: keys.INDEXES.place.name,
    KeyConditionExpression: '#partition = :partition AND #sort < :before',
    ExpressionAttributeNames: {
      '#partition': keys.INDEXES.place.partition,
      '#sort': keys.INDEXES.place.sort,
    },
    ExpressionAttributeValues: { ':partition': keys.linesPlace(shard), ':before': orderNumber(before) },
    Limit: limit,
  }
}

type StoredBatch = [at: number, times: number, count: number, granted: number, ids: string]

export function lineFromItem(item: Item | undefined): StoredLineNote {
  if (!item) return { note: undefined, version: 0 }
  assertKnownSchema(item)
  const [lookAt, closed, emptyLooks, batches] = JSON.parse(item.json as string) as [
    number,
    number,
    number,
    StoredBatch[],
  ]
  const sent = batches.map(([at, times, count, granted, ids]) => ({
    ...{ at, times, count, granted },
    ids: ids.split(' ').filter(id => id !== ''),
  }))
  return { note: { lookAt, isClosed: closed === 1, emptyLooks, sent }, version: item.version as number }
}

/** The line of a note, by the keys of its item. */
export function lineOfKey({ pk, sk }: Item): Line {
  return { kind: sk === keys.LINE_SORT_KEYS.slot ? 'slot' : 'permit', limit: keys.limitOfSlots(pk as string) }
}

/** Reads at most 100 different shards of the permits of a concurrency limit. Strongly consistent. */
export function batchGetPermits(
  table: string,
  limit: string,
  shards: readonly number[],
): RequestOf<'batchGet'> {
  const Keys = shards.map(shard => permitsKey(limit, shard))
  return { RequestItems: { [table]: { Keys, ConsistentRead: true } } }
}

/** Records a permit holder in its shard. Guard: fewer than `max` hold a permit of the shard, and this holder holds none. */
export function acquirePermit(
  table: string,
  limit: string,
  { holder, taskId, since }: Holder,
  max: number,
): RequestOf<'update'> {
  return {
    TableName: table,
    Key: permitsKey(limit, shardOf(holder)),
    UpdateExpression: `SET #holder = :held, #v = :v, #ttl = :ttl REMOVE ${REPORT_NAMES} ADD #count :one`,
    ConditionExpression: [DOES_NOT_HOLD, HAS_FREE_PERMIT].join(JOINED_BY_AND),
    ExpressionAttributeNames: {
      ...{ ...REPORTS, ...namesOf('v', 'ttl', 'count') },
      '#holder': HOLDER_PREFIX + holder,
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
 */
export function releasePermit(
  table: string,
  limit: string,
  holder: string,
  since?: number,
): RequestOf<'update'> {
  const isSince = since !== undefined
  return {
    TableName: table,
    Key: permitsKey(limit, shardOf(holder)),
    UpdateExpression: isSince
      ? `REMOVE #holder, ${REPORT_NAMES} ADD #count :less`
      : 'SET #freed = :freed REMOVE #holder ADD #count :less',
    ConditionExpression: isSince ? [HOLDS, HOLDS_SINCE].join(JOINED_BY_AND) : HOLDS,
    ExpressionAttributeNames: {
      '#holder': HOLDER_PREFIX + holder,
      '#count': 'count',
      ...REPORTS,
      ...(isSince && { '#at': 'at' }),
    },
    ExpressionAttributeValues: {
      ':less': -1,
      ...(isSince ? { ':since': since } : { ':freed': 1 }),
    },
    ReturnValues: 'ALL_NEW',
    ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
  }
}

/** Records `now` as the time of a permit holder. Guard: the holder is recorded. */
export function renewPermit(table: string, limit: string, holder: string, now: number): RequestOf<'update'> {
  return {
    TableName: table,
    Key: permitsKey(limit, shardOf(holder)),
    UpdateExpression: `SET #holder.#at = :now REMOVE ${REPORT_NAMES}`,
    ConditionExpression: HOLDS,
    ExpressionAttributeNames: { ...REPORTS, '#holder': HOLDER_PREFIX + holder, '#at': 'at' },
    ExpressionAttributeValues: { ':now': now },
  }
}

export function permitsFromItem(item: Item | undefined): HeldPermits {
  return item ? permitsFromItems([item]) : { holders: [] }
}

/** The holders in these shards. */
export function permitsFromItems(items: readonly Item[]): HeldPermits {
  for (const item of items) assertKnownSchema(item)
  return { holders: items.flatMap(holdersIn) }
}

function holdersIn(item: Item): Holder[] {
  return Object.entries(item).flatMap(([name, value]) => {
    if (!name.startsWith(HOLDER_PREFIX)) return []
    const { of: taskId, at: since } = value as { of: string; at: number }
    return [{ holder: name.slice(HOLDER_PREFIX.length), taskId, since }]
  })
}
