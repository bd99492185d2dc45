import type { JobLook, PurgeJob } from '../../core/types/type-job.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

/** How far a purge is in one partition of its type's view, as whoever works on it notes. */
export type PurgeProgress = {
  readonly isSecond: boolean
  readonly at: number
  /** Nothing is left to be looked at in this round. */
  readonly isDone: boolean
  readonly after?: IndexEntry
}

type Partition = Pick<JobLook, 'type' | 'bucket' | 'shard'> & { readonly job: PurgeJob }

/** Longer than any purge of a type with more tasks than there are. */
const LIFE_MS = 7 * 86_400_000

/** Notes that a partition is worked on from here on, or that its round is over. */
export async function recordPurgeProgress(
  { records, clock }: Pick<System, 'records' | 'clock'>,
  partition: Partition,
  { isDone, after }: Pick<PurgeProgress, 'isDone' | 'after'>,
): Promise<void> {
  const now = clock.now()
  const isSecond = partition.job.isSecond === true
  const progress = { isSecond, at: now, isDone, ...(after && { after: { id: after.id, sort: after.sort } }) }
  await records.put(nameOf(partition), progress, now + LIFE_MS)
}

/** What was noted last; undefined when nobody has begun. */
export async function readPurgeProgress(
  { records }: Pick<System, 'records'>,
  partition: Partition,
): Promise<PurgeProgress | undefined> {
  return (await records.get(nameOf(partition))) as PurgeProgress | undefined
}

function nameOf({ type, job: { askedAt, before, statuses }, bucket, shard }: Partition): string {
  return ['purge', type, askedAt, before, [...statuses].sort().join('+'), bucket, shard].join('#')
}
