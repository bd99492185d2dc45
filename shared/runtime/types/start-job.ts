import { BatonError } from '../../core/errors.ts'
import { rangesOfPurge } from '../../core/operate/operate.ts'
import type { View } from '../../core/task/head-fields.ts'
import { shardNumbers, type TaskType, type TypeJob } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'

/** A bucket of the type's view, and the sort keys between which a job works on its tasks. */
export type JobRange = { readonly bucket: View['bucket']; readonly from?: number; readonly to?: number }

/**
 * The tasks of its type that a job works on. A resume leaves out tasks that are not due yet, since their
 * messages are still to come.
 */
export function jobRanges(job: TypeJob, now: number): readonly JobRange[] {
  switch (job.kind) {
    case 'resume':
    case 'relimit':
      return [{ bucket: 'open', to: now }, { bucket: 'compensating' }]
    case 'reorder':
      return [{ bucket: 'open' }, { bucket: 'compensating' }]
    case 'purge':
      return rangesOfPurge(job)
  }
}

/**
 * Starts a job on the tasks of a type: the jobs function works through each partition of their view on its own.
 *
 * @throws BatonError `unavailable` when a message could not be sent; starting the job again does no harm.
 */
export async function startJob(
  { messages, clock }: Pick<System, 'messages' | 'clock'>,
  type: TaskType,
  job: TypeJob,
  delaySeconds = 0,
): Promise<void> {
  const looks = shardNumbers(type).flatMap(shard =>
    jobRanges(job, clock.now()).map(({ bucket }) => ({ type: type.type, job, bucket, shard, delaySeconds })),
  )
  await throwIfUnsent(messages.continueJobs(looks), job)
}

/** Waits until the messages of a job are sent, and throws when one was not. */
export async function throwIfUnsent(
  sending: ReturnType<System['messages']['continueJobs']>,
  { kind }: TypeJob,
): Promise<void> {
  const [failure] = await sending
  if (!failure) return
  const message = `a message of the job ${kind} could not be sent: ${failure.reason}`
  throw failure.transient ? new BatonError('unavailable', message) : new Error(message)
}
