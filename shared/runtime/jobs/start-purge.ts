import type { TaskType } from '../../core/types/task-type.ts'
import type { PurgeJob } from '../../core/types/type-job.ts'
import type { System } from '../kernel/system.ts'
import { changeType } from '../types/change-type.ts'
import { startJob } from '../types/start-job.ts'

/** Indexes show what was written up to 2 s ago: what was there when the purge was asked for must be found. */
const INDEX_DELAY_S = 2
/** Purges of one type under way; asking for the same again takes no room. */
export const PURGES_MAX = 10

export type StartedPurge =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'unknown' | 'too-many' }

/**
 * Begins to remove tasks of a type, in the background. It stands with its type until it is over: a message that gets lost
 * on the way is made up for by the sweeper.
 */
export async function startPurge(
  system: Pick<System, 'types' | 'messages' | 'clock' | 'log' | 'operator'>,
  type: string,
  which: Omit<PurgeJob, 'kind'>,
): Promise<StartedPurge> {
  const job: PurgeJob = { kind: 'purge', ...which }
  const { before, after } = await changeType(system, type, stored => {
    const others = (stored?.purges ?? []).filter(other => !isContained(other, job))
    return stored && others.length < PURGES_MAX
      ? { ...stored, purges: [...others, job], operator: system.operator }
      : undefined
  })
  if (!after) return { ok: false, reason: before ? 'too-many' : 'unknown' }
  await startJob(system, after, job, INDEX_DELAY_S).catch(error =>
    system.log.warn('a purge was not begun yet; the sweeper begins it', { type, error }),
  )
  return { ok: true }
}

/** The purge is over. */
export async function endPurge(
  system: Pick<System, 'types' | 'clock'>,
  { type }: Pick<TaskType, 'type'>,
  job: PurgeJob,
): Promise<void> {
  await changeType(system, type, stored => {
    const left = stored?.purges?.filter(other => !isSame(other, job)) ?? []
    return stored && left.length !== stored.purges?.length ? { ...stored, purges: left } : undefined
  })
}

/** Whether all that `one` is about is what `other`, which was asked for later, is about, too. */
function isContained(one: PurgeJob, other: PurgeJob): boolean {
  return one.before <= other.before && one.statuses.every(status => other.statuses.includes(status))
}

function isSame(one: PurgeJob, other: PurgeJob): boolean {
  return one.askedAt === other.askedAt && isContained(one, other) && isContained(other, one)
}
