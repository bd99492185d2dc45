import { type Decision, refuse } from '../change/change.ts'
import { isGone } from '../publish/publish.ts'
import { statusOf } from '../status/status.ts'
import type { View } from '../task/head-fields.ts'
import type { Status } from '../task/lifecycle.ts'
import type { Task } from '../task/task.ts'
import type { PurgeJob } from '../types/type-job.ts'
import { remove } from './operate.ts'

/**
 * Removes the task if the purge covers it. The task as stored now is judged by its status at the time of the request. So a task that
 * was delayed then and has become due since counts as delayed. A task that was published later is never covered.
 */
export function purge(task: Task, job: PurgeJob, now: number): Decision<'not-covered'> {
  if (isGone(task, now) || !isCovered(task, job)) return refuse('not-covered')
  return { ok: true, change: remove(task, now) }
}

function isCovered(task: Task, { statuses, before, askedAt }: PurgeJob): boolean {
  const since = task.state === 'open' ? task.createdAt : (task.finishedAt ?? task.updatedAt)
  return since < before && statuses.includes(statusOf(task, askedAt))
}

/** A bucket of the type's view in which a purge may find tasks, and the range of sort keys to read. */
export type PurgeRange = {
  readonly bucket: View['bucket']
  readonly from?: number
  readonly to?: number
}

const ENDED = ['succeeded', 'failed', 'cancelled'] as const

/**
 * The ranges in which a purge may find tasks. An ended task that still owes callbacks is listed among the open ones by its due
 * time. A running task may have a due time in the future.
 */
export function rangesOfPurge({ statuses, before, askedAt }: PurgeJob): PurgeRange[] {
  const has = (status: Status) => statuses.includes(status)
  const ended = ENDED.filter(has)
  const isAfterDue = has('ready') || has('running') || ended.length > 0
  const isBeforeDue = has('delayed') || has('running')
  const open: PurgeRange = {
    bucket: 'open',
    ...(!isBeforeDue && { to: askedAt }),
    ...(!isAfterDue && { from: askedAt + 1 }),
  }
  return [
    ...(isAfterDue || isBeforeDue ? [open] : []),
    ...(has('compensating') ? [{ bucket: 'compensating' as const }] : []),
    ...ended.map(bucket => ({ bucket, to: before - 1 })),
  ]
}
