import type { JobLook, PurgeJob } from './types/task-type.ts'
import { digestOf } from './values/text.ts'
import type { Json } from './values/values.ts'

/**
 * The names of the records that the machinery keeps for itself: cursors, progress, answers to be repeated. `keys.ts` of the
 * DynamoDB adapter turns a name into a partition. `docs/data-model.md` says what each record holds and when it expires.
 */

/** The names of the sweeper's cursors. The sweeper keeps one for each partition that it reads. */
export const sweepRecord = {
  open: (type: string, shard: number) => `sweep#open#${type}#${shard}`,
  later: (type: string, shard: number) => `sweep#later#${type}#${shard}`,
  undoing: (type: string, shard: number) => `sweep#undoing#${type}#${shard}`,
  running: (type: string, shard: number) => `sweep#running#${type}#${shard}`,
  canvases: (shard: number) => `sweep#canvas#${shard}`,
  schedules: (shard: number) => `sweep#schedule#${shard}`,
}

/** The name of the record that a minute was woken. Its tasks fell due further ahead than an SQS delay reaches (15 minutes). */
export function minuteRecord(minute: number): string {
  return `minute#${minute}`
}

/** The name of the record of a purge's progress in one partition of its type's view. */
export function purgeRecord({
  type,
  job: { askedAt, before, statuses },
  bucket,
  shard,
}: Pick<JobLook, 'type' | 'bucket' | 'shard'> & { readonly job: PurgeJob }): string {
  return `purge#${[type, askedAt, before, [...statuses].sort().join('+'), bucket, shard].join('#')}`
}

/** The name of the record of what callers last did about things that needed attention. */
export const ATTENDED_RECORD = 'attended'

export function bulkRecord(id: string): string {
  return `bulk#${id}`
}

/** The name of the record that keeps the answer to a claim of some types with a `requestId`. A key has no room for 20 types. */
export function claimRecord(workerId: string, requestId: string, types: readonly string[]): string {
  const names = [...new Set(types)].sort().join()
  return `claims#${JSON.stringify([workerId, requestId, digestOf(names, ['a', 'b'])])}`
}

/** The name of the record of a type's input schema. It follows from the content: 128 bits distinguish the schemas of a system. */
export function inputSchemaRecord(schema: Json): string {
  return `schema#${digestOf(JSON.stringify(schema), ['a', 'b', 'c', 'd'])}`
}

/** The name of the record that says where the next page of a worker's markers of a type begins. */
export function markerCursorRecord(workerId: string, type: string): string {
  return MARKER_CURSOR_PREFIX + JSON.stringify([workerId, type])
}

const MARKER_CURSOR_PREFIX = 'targets#'

/** The pattern that matches every `markerCursorRecord` in an IAM policy. */
export const MARKER_CURSOR_PATTERN = `${MARKER_CURSOR_PREFIX}*`
