import { rangesOfPurge } from '../../core/operate/purge.ts'
import { shardNumbers, type TaskType } from '../../core/types/task-type.ts'
import type { JobLook, PurgeJob } from '../../core/types/type-job.ts'
import type { System } from '../kernel/system.ts'
import { lostMessageDetector } from './lost-messages.ts'
import { type PurgeProgress, readPurgeProgress } from './purge-progress.ts'
import { endPurge } from './start-purge.ts'

/** Longer than one message of a purge is worked on. A silent purge has lost its message, unless the jobs queue is busy. */
const SILENT_MS = 60_000

export type PurgesReport = { readonly repaired: number; readonly failed: number }

/**
 * Sees the purges that stand with their types through to their end: makes up for messages that were lost, and lets every
 * partition be gone through twice, a minute apart, because the index may have been behind the first time. Types without
 * purges, which is nearly all of the time, cost nothing.
 */
export async function sweepPurges(system: System, types: readonly TaskType[]): Promise<PurgesReport> {
  const purges = types.flatMap(type => (type.purges ?? []).map(job => ({ type, job })))
  const reports = await Promise.all(
    purges.map(({ type, job }) =>
      sweepPurge(system, type, job).catch(error => {
        system.log.error('a purge was not seen to', { type: type.type, error })
        return { repaired: 0, failed: 1 }
      }),
    ),
  )
  return {
    repaired: reports.reduce((sum, { repaired }) => sum + repaired, 0),
    failed: reports.reduce((sum, { failed }) => sum + failed, 0),
  }
}

async function sweepPurge(system: System, type: TaskType, job: PurgeJob): Promise<PurgesReport> {
  const now = system.clock.now()
  if (now - job.askedAt < SILENT_MS) return { repaired: 0, failed: 0 }
  const partitions = shardNumbers(type).flatMap(shard =>
    rangesOfPurge(job).map(({ bucket }) => ({ type: type.type, job, bucket, shard })),
  )
  const isQuiet = lostMessageDetector(system, SILENT_MS)
  const steps = await Promise.all(
    partitions.map(async one => ({
      one,
      step: await nextStep(await readPurgeProgress(system, one), job, isQuiet),
    })),
  )
  if (steps.every(({ step }) => step === 'over')) {
    await endPurge(system, type, job)
    return { repaired: 0, failed: 0 }
  }
  const looks = steps.flatMap(({ one, step }) => (typeof step === 'object' ? [lookOf(one, step)] : []))
  const failures = await system.messages.continueJobs(looks)
  const lost = steps.filter(({ step }) => typeof step === 'object' && step.isLost).length
  if (lost > 0) system.metrics.add('SweeperRepaired', lost, type.type)
  return { repaired: lost, failed: failures.length }
}

type Step = 'over' | 'wait' | (Pick<PurgeProgress, 'isSecond' | 'after'> & { readonly isLost: boolean })

async function nextStep(
  progress: PurgeProgress | undefined,
  { askedAt }: PurgeJob,
  isQuiet: (lastSign: number) => Promise<boolean>,
): Promise<Step> {
  if (!progress) return (await isQuiet(askedAt)) ? { isSecond: false, isLost: true } : 'wait'
  const { isSecond, isDone, at, after } = progress
  if (isDone && isSecond) return 'over'
  if (!(await isQuiet(at))) return 'wait'
  return isDone ? { isSecond: true, isLost: false } : { isSecond, isLost: true, ...(after && { after }) }
}

function lookOf(
  partition: Pick<JobLook, 'type' | 'bucket' | 'shard'> & { readonly job: PurgeJob },
  { isSecond, after }: Exclude<Step, string>,
): JobLook {
  const { job } = partition
  return {
    ...partition,
    job: isSecond ? { ...job, isSecond } : job,
    ...(after && { after }),
    delaySeconds: 0,
  }
}
