import type { Place, View } from '../task/head-fields.ts'
import type { Wait } from '../task/task.ts'

/** Partitions of one minute's place. One partition could not serve 100,000 tasks that are due at midnight. */
export const MINUTE_SHARDS = 8

export function minutePlaceName(minute: number, shard: number): string {
  return `minute#${minute}#${shard}`
}

/** The partition of the index `view` that holds the tasks of a type in one bucket. */
export function viewPartition(type: string, bucket: View['bucket'], shard: number): string {
  return `${type}#${bucket}#${shard}`
}

/** The bucket of a partition of the index `view`. */
export function bucketOfView(partition: string): View['bucket'] {
  return partition.split('#')[1] as View['bucket']
}

/** The partition of the index `owner` that holds one user's tasks. */
export function ownerPartition(userId: string): string {
  return OWNER_PREFIX + userId
}

/** The user whose tasks a partition of the index `owner` holds. */
export function userOfOwner(partition: string): string {
  return partition.slice(OWNER_PREFIX.length)
}

const OWNER_PREFIX = 'user#'

export function readyPlace(type: string, shard: number): string {
  return `ready#${type}#${shard}`
}

const LIMIT_PREFIX = 'limit#'

/** One partition of a line: of the tasks that wait for slots, or for permits, of a limit. */
export function limitPlace({ kind, limit }: Wait, shard: number): string {
  return `${LIMIT_PREFIX}${limit}#${kind}#${shard}`
}

export function isLimitPlace(name: string): boolean {
  return name.startsWith(LIMIT_PREFIX)
}

const RUNNING_PREFIX = 'running#'
const UNDOING_PREFIX = 'undoing#'

/** Whether the place holds running tasks, or flows that undo their steps. */
export function isRunningPlace({ name }: Place): boolean {
  return name.startsWith(RUNNING_PREFIX) || name.startsWith(UNDOING_PREFIX)
}

export function runningPlace(type: string, shard: number): string {
  return `${RUNNING_PREFIX}${type}#${shard}`
}

export function undoingPlace(type: string, shard: number): string {
  return `${UNDOING_PREFIX}${type}#${shard}`
}
