import type { TaskType } from '../../core/task-type.ts'
import type { PurgeJob } from '../../core/type-job.ts'
import type { System } from '../system.ts'
import { startJob } from './work-on-job.ts'

/** Indexes show what was written up to 2 s ago: what was there when the purge was asked for must be found. */
const INDEX_DELAY_S = 2

/**
 * Begins to remove tasks of a type, in the background.
 *
 * @throws BatonError `unavailable` when it could not be begun everywhere; beginning it again does no harm.
 */
export async function startPurge(
  system: Pick<System, 'messages' | 'clock'>,
  type: TaskType,
  which: Omit<PurgeJob, 'kind'>,
): Promise<void> {
  await startJob(system, type, { kind: 'purge', ...which }, INDEX_DELAY_S)
}
