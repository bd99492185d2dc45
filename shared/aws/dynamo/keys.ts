import type { FreedPermit } from '../../core/limits/limits.ts'
import { typeOfLimit } from '../../core/task/task.ts'

/**
 * Every key and index of the one table. The constructs build the table from this file, and the requests use it. The core names
 * places (`core/place/place.ts`), records (`core/record-names.ts`) and bodies (`core/task/head-fields.ts`).
 * `docs/data-model.md` explains all of them.
 */

/** Attribute names of the table's primary key. Both are strings. */
export const PRIMARY_KEY = { partition: 'pk', sort: 'sk' } as const

/** The time at which DynamoDB may delete the item, in unix seconds. */
export const TTL_ATTRIBUTE = 'ttl'

/** Secondary indexes. All are keys-only and sparse: an item without an index's attributes is not in it and costs nothing. */
export const INDEXES = {
  /** Tasks of a type by bucket, for lists. Open tasks sort by due time, ended ones by end time (ms, number). */
  view: { name: 'view', partition: 'vpk', sort: 'vsk', sortType: 'N' },
  /** Tasks that must be found without a message, for claims and timers. They sort by their claim order (string). */
  place: { name: 'place', partition: 'ppk', sort: 'psk', sortType: 'S' },
  /** Tasks of a user, sorted by creation (ms, number). */
  owner: { name: 'owner', partition: 'opk', sort: 'osk', sortType: 'N' },
} as const

/** The sort key of a task's head item; its partition key is the task's id. */
export const HEAD_SORT_KEY = 'head'

/** Attribute of a head that names the last operation on it. The stream's filter drops heartbeats (`BEAT_OPERATION`). */
export const OPERATION_ATTRIBUTE = 'op'
/** Value of `OPERATION_ATTRIBUTE` after a heartbeat. */
export const BEAT_OPERATION = 'beat'

/** The partition of all task types. They sort by name, so one query lists them. */
export const TYPES_PARTITION = 'types'

/** Attribute of a type's item: its version. */
export const VERSION_ATTRIBUTE = 'version'
/** Attribute of a type's item: the version in which the type got tenants. */
export const FAIR_ATTRIBUTE = 'fair'

/** The partition of one worker's markers, which sort by task id. */
export function targetPartition(workerId: string): string {
  return `${TARGET_PREFIX}${workerId}`
}

export function workerOfTarget(partition: string): string {
  return partition.slice(TARGET_PREFIX.length)
}

const TARGET_PREFIX = 'target#'

/** The partition of all registered workers. They sort by id. */
export const WORKERS_PARTITION = 'workers'
/** The partition of the workers that are gone. They sort by id, so only the last incarnation of an id is kept. */
export const GONE_WORKERS_PARTITION = 'gone-workers'

/**
 * The partition of one chunk of the ends of a canvas's members. Each chunk has its own, because thousands of members may end in a second.
 */
export function endsPartition(canvasId: string, born: string, chunk: number): string {
  return `ends#${canvasId}#${born}#${chunk}`
}

export function chunkOfEnds(partition: string): number {
  return Number(partition.split('#').at(-1))
}
export const ENDS_SORT_KEY = 'ends'

/** The partition of the slots under a rate limit, and of the notes of a limit's lines. */
export function slotsPartition(limit: string): string {
  return SLOTS_PREFIX + limit
}
export const SLOTS_SORT_KEY = 'starts'
const SLOTS_PREFIX = 'starts#'

export function limitOfSlots(partition: string): string {
  return partition.slice(SLOTS_PREFIX.length)
}

/** The sort keys of the notes of lines, by what their tasks wait for. */
export const LINE_SORT_KEYS = { slot: 'line#slot', permit: 'line#permit' } as const
/** Partitions of the index `place` that hold the notes of all lines, by the time of the next look. */
export const LINE_SHARDS = 4
export function linesPlace(shard: number): string {
  return `lines#${shard}`
}

/**
 * The partition of one shard of the permits under a concurrency limit: one item, with an attribute for each holder. Shard 0 is named
 * by the limit alone. Another shard has its number after the type, since neither types nor numbers contain `#` or `=`.
 */
export function permitsPartition(limit: string, shard = 0): string {
  const type = typeOfLimit(limit)
  return `${PERMITS_PREFIX}${type}${shard === 0 ? '' : `#${shard}`}${limit.slice(type.length)}`
}
export const PERMITS_SORT_KEY = 'permits'

export function shardOfPermits(partition: string): FreedPermit {
  const name = partition.slice(PERMITS_PREFIX.length)
  const [type = '', shard = 0] = typeOfLimit(name).split('#')
  return { limit: type + name.slice(typeOfLimit(name).length), shard: Number(shard) }
}

const PERMITS_PREFIX = 'permits#'

/**
 * Attribute of a limit's permits and slots: the last write gave back as many as its value says. Only the stream reads it, and the next
 * write removes it.
 */
export const FREED_ATTRIBUTE = 'freed'
/**
 * Attribute of the note of a line: the last write noted that tasks wait, and no look is under way yet. Its value is the time of the first
 * look. Only the stream reads it, and the next write removes it.
 */
export const NOTED_ATTRIBUTE = 'noted'

/** The partition of a tenant's last turn: one item for each line and tenant. */
export function turnsPartition(name: string): string {
  return `turns#${name}`
}
export const TURNS_SORT_KEY = 'turns'

/** The partition of the front of a line (see `core/place/claim-order.ts`), as claims have noted it: one item for each line. */
export function frontPartition(line: string): string {
  return `front#${line}`
}
export const FRONT_SORT_KEY = 'front'

/** The partition of one record (see `core/record-names.ts`). It has one item. */
export function recordPartition(name: string): string {
  return `record#${name}`
}
export const RECORD_SORT_KEY = 'record'

/** The partition of the steps of a flow: one item for each set of steps. Its name is a digest of the steps. It never expires. */
export function definitionPartition(name: string): string {
  return `steps#${name}`
}
export const DEFINITION_SORT_KEY = 'steps'

/** The partition of the failures of one type: one item for each hour and masked error. */
export function failuresPartition(type: string): string {
  return `failures#${type}`
}

/** The sort key of the failures with one error in one hour. Hours have 14 digits, so they sort as numbers. */
export function failuresSortKey(hour: number, error: string): string {
  return `${String(hour).padStart(TIME_DIGITS, '0')}#${error}`
}

export function failureFrom(sortKey: string): { readonly hour: number; readonly error: string } {
  return { hour: Number(sortKey.slice(0, TIME_DIGITS)), error: sortKey.slice(TIME_DIGITS + 1) }
}

const TIME_DIGITS = 14

/** The partition of the activity of one type: one item for each minute. */
export function activityPartition(type: string): string {
  return `activity#${type}`
}

/** The sort key of the activity in one minute, in ms. Minutes have 14 digits, so they sort as numbers. */
export function activitySortKey(minute: number): string {
  return String(minute).padStart(TIME_DIGITS, '0')
}

/** The partition of all dead letters. They sort by their ids. */
export const DEAD_LETTERS_PARTITION = 'dead-letters'

/**
 * The partition of the body of one dead letter, if it is too long for the letter's own item: one item for each chunk. It has no colon, so
 * no grant for partitions of tasks matches it.
 */
export function letterBodyPartition(messageId: string): string {
  return `dead-letter#${messageId}`
}

/** The sort key of a chunk. A body has fewer than 100 chunks. */
export function chunkSortKey(chunk: number): string {
  return `body#${String(chunk).padStart(2, '0')}`
}

/** The sort key of the note about a task that its message was given up; its partition key is the task's id. */
export const LOST_MESSAGE_SORT_KEY = 'lost'

/** The records of the table's stream that the planner reads, as patterns of an event source mapping. Lambda drops all others. */
export const STREAM_FILTERS = [
  // Heads that any operation but a heartbeat has written.
  {
    eventName: ['INSERT', 'MODIFY'],
    dynamodb: {
      Keys: { sk: { S: [HEAD_SORT_KEY] } },
      NewImage: { [OPERATION_ATTRIBUTE]: { S: [{ 'anything-but': [BEAT_OPERATION] }] } },
    },
  },
  // Workers that joined or left the registry. A sign of life modifies a worker's item and does not match.
  { eventName: ['INSERT', 'REMOVE'], dynamodb: { Keys: { pk: { S: [WORKERS_PARTITION] } } } },
  // Permits and slots that were given back. One that is taken does not match.
  {
    eventName: ['MODIFY'],
    dynamodb: {
      Keys: { sk: { S: [PERMITS_SORT_KEY, SLOTS_SORT_KEY] } },
      NewImage: { [FREED_ATTRIBUTE]: { N: [{ exists: true }] } },
    },
  },
  // Lines that have just been noted.
  {
    eventName: ['INSERT', 'MODIFY'],
    dynamodb: {
      Keys: { sk: { S: Object.values(LINE_SORT_KEYS) } },
      NewImage: { [NOTED_ATTRIBUTE]: { N: [{ exists: true }] } },
    },
  },
]
