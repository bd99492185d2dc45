/**
 * Every key and index of the one table. The constructs build the table from this file, the requests use it, and
 * `docs/data-model.md` explains it.
 */

/** Attribute names of the table's primary key. Both are strings. */
export const PRIMARY_KEY = { partition: 'pk', sort: 'sk' } as const

/** Items expire (DynamoDB TTL, unix seconds) by this attribute. */
export const TTL_ATTRIBUTE = 'ttl'

/** Secondary indexes. All are keys-only and sparse: an item without the attributes is not in them and costs nothing. */
export const INDEXES = {
  /** For people: tasks of a type by bucket, sorted by due time while open, by end time afterwards (ms, number). */
  view: { name: 'view', partition: 'vpk', sort: 'vsk', sortType: 'N' },
  /** For machinery: tasks that wait where they must be found without a message; sorted by their order (string). */
  place: { name: 'place', partition: 'ppk', sort: 'psk', sortType: 'S' },
  /** Tasks of a user, sorted by creation (ms, number). */
  owner: { name: 'owner', partition: 'opk', sort: 'osk', sortType: 'N' },
} as const

/** The sort key of a task's head item; its partition key is the task's id. */
export const HEAD_SORT_KEY = 'head'

/** Attribute of a head that names the last operation on it; the stream's filter drops `BEAT`. */
export const OPERATION_ATTRIBUTE = 'op'
export const BEAT_OPERATION = 'beat'

/** All task types stand in one partition, by name, so that one query lists them. */
export const TYPES_PARTITION = 'types'

/** Attributes of a type's item beside its configuration: the version, and the version in which it got tenants. */
export const VERSION_ATTRIBUTE = 'version'
export const FAIR_ATTRIBUTE = 'fair'

/** The markers of one worker stand in one partition, by task id. */
export function targetPartition(workerId: string): string {
  return `${TARGET_PREFIX}${workerId}`
}

/** The worker whose markers stand in this partition. */
export function workerOfTarget(partition: string): string {
  return partition.slice(TARGET_PREFIX.length)
}

const TARGET_PREFIX = 'target#'

/** All workers that announce themselves stand in one partition, by id. */
export const WORKERS_PARTITION = 'workers'

/** Ends of a canvas's members: each chunk in a partition of its own, since thousands may end in a second. */
export function endsPartition(canvasId: string, born: string, chunk: number): string {
  return `ends#${canvasId}#${born}#${chunk}`
}
/** The chunk whose ends stand in this partition. */
export function chunkOfEnds(partition: string): number {
  return Number(partition.split('#').at(-1))
}
export const ENDS_SORT_KEY = 'ends'

/** Starts under a rate limit: one item for each limit. */
export function slotsPartition(limit: string): string {
  return `starts#${limit}`
}
export const SLOTS_SORT_KEY = 'starts'

/** Permits under a concurrency limit: one item for each limit, an attribute for each holder. */
export function permitsPartition(limit: string): string {
  return PERMITS_PREFIX + limit
}
export const PERMITS_SORT_KEY = 'permits'

/** The limit whose permits stand in this partition. */
export function limitOfPermits(partition: string): string {
  return partition.slice(PERMITS_PREFIX.length)
}

const PERMITS_PREFIX = 'permits#'

/**
 * Attributes of a limit's permits that only tell the stream what the last write was; the next write removes them.
 * `FREED`: a permit was given back; the value is the note that tasks wait, `FREED_TO_NOBODY` when there was none.
 * `NOTED`: the note that tasks wait was written, and no look sees to the limit yet.
 */
export const FREED_ATTRIBUTE = 'freed'
export const FREED_NO_WAITERS = 0
export const NOTED_ATTRIBUTE = 'noted'
/** The last turn of a tenant: one item for each line and tenant. */
export function turnsPartition(name: string): string {
  return `turns#${name}`
}
export const TURNS_SORT_KEY = 'turns'

/** The front of a line as claimers have noted it: one item for each line. */
export function frontPartition(line: string): string {
  return `front#${line}`
}
export const FRONT_SORT_KEY = 'front'

/** Small records of the machinery, one item each. */
export function recordPartition(name: string): string {
  return `record#${name}`
}
export const RECORD_SORT_KEY = 'record'

/** The steps of flows, one item for each set of them, by a name that follows from what they are. They never expire. */
export function definitionPartition(name: string): string {
  return `steps#${name}`
}
export const DEFINITION_SORT_KEY = 'steps'
