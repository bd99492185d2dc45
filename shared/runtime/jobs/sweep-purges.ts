import { rangesOfPurge } from '../../core/operate/purge.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { JobLook, PurgeJob } from '../../core/types/type-job.ts'
import type { System } from '../kernel/system.ts'
import { NOTHING_SWEPT, type SweepReport, sweepEach } from '../repair/repair.ts'
import { lostMessageDetector } from './lost-messages.ts'
import { type PurgeProgress, readPurgeProgress } from './purge-progress.ts'
import { endPurge } from './start-purge.ts'

/**
 * Longer than the work on one message of a purge takes. A purge that is silent for longer has lost its message,
 * unless the jobs queue is busy.
 */
const SILENT_MS = 60_000
/** After a pass that left tasks in place for open canvases, the next pass over that partition begins after this time. */
const SPARED_MS = 10 * 60_000

/**
 * Brings the listed purges of all types to their end. It replaces lost messages. It lets a purge pass over each
 * partition twice, a minute apart, because the index may show a task only after the first pass. Where a pass left tasks
 * in place that open canvases need, further passes follow until these canvases have ended. Types without purges, which
 * is nearly always all of them, cost nothing.
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
    partitions.map(async one => ({
      one,
      step: await nextStep(await readPurgeProgress(system, one), job, now, isMessageLost),
    })),
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

function jobLookOf(
  partition: Pick<JobLook, 'type' | 'bucket' | 'shard'> & { readonly job: PurgeJob },
  { isSecond, hasSpared, after }: Exclude<Step, string>,
): JobLook {
  const { job } = partition
  return {
    ...partition,
    job: { ...job, ...(isSecond && { isSecond }), ...(hasSpared && { hasSpared }) },
    ...(after && { after }),
    delaySeconds: 0,
  }
}
