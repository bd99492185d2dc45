import { rangesOfPurge } from '../../core/operate/operate.ts'
import { purgeRecord } from '../../core/record-names.ts'
import { type JobLook, type PurgeJob, shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { lostMessageDetector, NOTHING_SWEPT, type SweepReport, sweepEach } from '../repair.ts'
import { changeType, startJob } from '../types/change-type.ts'

/**
 * Longer than the work on one message of a purge takes. A purge that is silent for longer has lost its message,
 * unless the jobs queue is busy.
 */
const SILENT_MS = 60_000
/** After a pass that left tasks in place for open canvases, the next pass over that partition begins after this time. */
const SPARED_MS = 10 * 60_000

/**
 * Brings the listed purges of all types to their end. It replaces lost messages. It lets a purge pass over each partition twice, a minute
 * apart, because the index may show a task only after the first pass. Where a pass left tasks in place that open canvases need, further
 * passes follow until these canvases have ended. Types without purges, which is nearly always all of them, cost nothing.
 */
export async function sweepPurges(system: System, types: readonly TaskType[]): Promise<SweepReport> {
  const purges = types.flatMap(type => (type.purges ?? []).map(job => ({ type, job })))
  return sweepEach(
    purges,
    purges.length,
    ({ type, job }) => sweepPurge(system, type, job),
    ({ type: { type } }, error) => system.log.error('a purge could not be swept', { type, error }),
  )
}

async function sweepPurge(system: System, type: TaskType, job: PurgeJob): Promise<SweepReport> {
  const now = system.clock.now()
  if (now - job.askedAt < SILENT_MS) return NOTHING_SWEPT
  const partitions = shardNumbers(type).flatMap(shard =>
    rangesOfPurge(job).map(({ bucket }) => ({ type: type.type, job, bucket, shard })),
  )
  const isMessageLost = lostMessageDetector(system, SILENT_MS)
  const steps = await Promise.all(
    partitions.map(async one => {
      const progress = (await system.records.get(purgeRecord(one))) as PurgeProgress | undefined
      return { one, step: await nextStep(progress, job, now, isMessageLost) }
    }),
  )
  if (steps.every(({ step }) => step === 'over')) {
    await endPurge(system, type, job)
    return NOTHING_SWEPT
  }
  const looks = steps.flatMap(({ one, step }) => (typeof step === 'object' ? [jobLookOf(one, step)] : []))
  const failures = await system.messages.continueJobs(looks)
  const lost = steps.filter(({ step }) => typeof step === 'object' && step.isLost).length
  if (lost > 0) system.metrics.add('SweeperRepaired', lost, type.type)
  return { ...NOTHING_SWEPT, repaired: lost, failed: failures.length }
}

type Step = 'over' | 'wait' | (Omit<PurgeProgress, 'at' | 'isDone'> & { readonly isLost: boolean })

async function nextStep(
  progress: PurgeProgress | undefined,
  { askedAt }: PurgeJob,
  now: number,
  isMessageLost: (lastSign: number) => Promise<boolean>,
): Promise<Step> {
  if (!progress) return (await isMessageLost(askedAt)) ? { isSecond: false, isLost: true } : 'wait'
  const { at, isDone, ...unfinished } = progress
  if (isDone && unfinished.isSecond) {
    if (!unfinished.hasSpared) return 'over'
    return at + SPARED_MS > now ? 'wait' : { isSecond: true, isLost: false }
  }
  if (!(await isMessageLost(at))) return 'wait'
  return isDone ? { isSecond: true, isLost: false } : { ...unfinished, isLost: true }
}

function jobLookOf(partition: Partition, { isSecond, hasSpared, after }: Exclude<Step, string>): JobLook {
  const { job } = partition
  return {
    ...partition,
    job: { ...job, ...(isSecond && { isSecond }), ...(hasSpared && { hasSpared }) },
    ...(after && { after }),
    delaySeconds: 0,
  }
}

/** How far a purge is in one partition of its type's view, as the jobs function records it. */
type PurgeProgress = {
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

/** Indexes show a write up to 2 s late. The purge waits this long, so that it finds all tasks that existed when it was asked for. */
const INDEX_DELAY_S = 2
/** The most purges of one type at a time; asking for the same purge again does not count. */
export const PURGES_MAX = 10

/**
 * Begins to remove tasks of a type in the background. The type lists the purge until it is done, so the sweeper
 * can replace a message that gets lost.
 */
export async function startPurge(
  system: Pick<System, 'types' | 'messages' | 'clock' | 'log' | 'operator'>,
  type: string,
  which: Omit<PurgeJob, 'kind'>,
): Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: 'unknown' | 'too-many' }> {
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

async function endPurge(
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
