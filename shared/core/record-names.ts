import type { JobLook, PurgeJob } from './types/type-job.ts'

/**
 * The names of the records that the machinery keeps for itself: cursors, progress, answers to be repeated. `keys.ts` of the
 * DynamoDB adapter turns a name into a partition. `docs/data-model.md` says what each record holds and when it expires.
 */

/** Cursors of the sweeper, one for each partition that it reads. */
export const sweepRecord = {
  open: (type: string, shard: number) => `sweep#open#${type}#${shard}`,
  undoing: (type: string, shard: number) => `sweep#undoing#${type}#${shard}`,
  running: (type: string, shard: number) => `sweep#running#${type}#${shard}`,
  canvases: (shard: number) => `sweep#canvas#${shard}`,
  schedules: (shard: number) => `sweep#schedule#${shard}`,
}

/** Says that a far minute was woken. */
export function minuteRecord(minute: number): string {
  return `minute#${minute}`
}

/** The progress of a purge in one partition of its type's view. */
export function purgeRecord({
  type,
  job: { askedAt, before, statuses },
  bucket,
  shard,
}: Pick<JobLook, 'type' | 'bucket' | 'shard'> & { readonly job: PurgeJob }): string {
  return `purge#${[type, askedAt, before, [...statuses].sort().join('+'), bucket, shard].join('#')}`
}

/** The answer to a claim with a `requestId`. */
export function claimRecord(workerId: string, requestId: string): string {
  return `claims#${JSON.stringify([workerId, requestId])}`
}

/** Where the next page of a worker's markers of a type begins. */
export function markerCursorRecord(workerId: string, type: string): string {
  return MARKER_CURSOR_PREFIX + JSON.stringify([workerId, type])
}

const MARKER_CURSOR_PREFIX = 'targets#'

/** Stands for every `markerCursorRecord` in a policy of IAM. */
export const MARKER_CURSOR_PATTERN = `${MARKER_CURSOR_PREFIX}*`
