import { purgeRecord } from '../../core/record-names.ts'
import type { JobLook, PurgeJob } from '../../core/types/type-job.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'

/** How far a purge is in one partition of its type's view, as the jobs function records it. */
export type PurgeProgress = {
  /** Whether this is the second pass. A purge passes over each partition twice, because the index shows some tasks late. */
  readonly isSecond: boolean
  readonly at: number
  /** The present pass over the partition is complete. */
  readonly isDone: boolean
  /** The present pass has left tasks in place that open canvases need. */
  readonly hasSpared?: boolean
  readonly after?: IndexEntry
}

type Partition = Pick<JobLook, 'type' | 'bucket' | 'shard'> & { readonly job: PurgeJob }

/** Longer than any purge takes. */
const PROGRESS_TTL_MS = 7 * 86_400_000

/** Records how far the present pass over a partition is, or that it is complete. */
export async function recordPurgeProgress(
  { records, clock }: Pick<System, 'records' | 'clock'>,
  partition: Partition,
  { isDone, after }: Pick<PurgeProgress, 'isDone' | 'after'>,
): Promise<void> {
  const now = clock.now()
  const { isSecond = false, hasSpared = false } = partition.job
  const position = after && { after: { id: after.id, sort: after.sort } }
  const progress = { isSecond, at: now, isDone, hasSpared, ...position }
  await records.put(purgeRecord(partition), progress, now + PROGRESS_TTL_MS)
}

/** The progress recorded last; undefined when the partition was not begun. */
export async function readPurgeProgress(
  { records }: Pick<System, 'records'>,
  partition: Partition,
): Promise<PurgeProgress | undefined> {
  return (await records.get(purgeRecord(partition))) as PurgeProgress | undefined
}
