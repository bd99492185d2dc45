import type { TaskType } from '../../core/types/task-type.ts'
import type { PurgeJob } from '../../core/types/type-job.ts'
import type { System } from '../kernel/system.ts'
import { changeType } from '../types/change-type.ts'
import { startJob } from '../types/start-job.ts'

/**
 * Indexes show a write up to 2 s late. The purge waits this long, so that it finds all tasks that existed when
 * it was asked for.
 */
const INDEX_DELAY_S = 2
/** The most purges of one type at a time; asking for the same purge again does not count. */
export const PURGES_MAX = 10

export type StartedPurge =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: 'unknown' | 'too-many' }

/**
 * Begins to remove tasks of a type in the background. The type lists the purge until it is done, so the sweeper
 * can replace a message that gets lost.
 */
export async function startPurge(
  system: Pick<System, 'types' | 'messages' | 'clock' | 'log' | 'operator'>,
  type: string,
  which: Omit<PurgeJob, 'kind'>,
): Promise<StartedPurge> {
  const job: PurgeJob = { kind: 'purge', ...which }
  const { before, after } = await changeType(system, type, stored => {
    const others = (stored?.purges ?? []).filter(other => !isCoveredBy(other, job))
    return stored && others.length < PURGES_MAX
      ? { ...stored, purges: [...others, job], operator: system.operator }
      : undefined
  })
  if (!after) return { ok: false, reason: before ? 'too-many' : 'unknown' }
  await startJob(system, after, job, INDEX_DELAY_S).catch(error =>
    system.log.warn('a purge could not be started; the sweeper starts it', { type, error }),
  )
  return { ok: true }
}

/** Takes a finished purge from the list of its type. */
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

/** Whether the purge `wider` covers every task of `one`. */
function isCoveredBy(one: PurgeJob, wider: PurgeJob): boolean {
  return one.before <= wider.before && one.statuses.every(status => wider.statuses.includes(status))
}

function isSame(one: PurgeJob, other: PurgeJob): boolean {
  return one.askedAt === other.askedAt && isCoveredBy(one, other) && isCoveredBy(other, one)
}
