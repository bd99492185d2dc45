import { type Decision, refuse } from '../change/change.ts'
import { isGone } from '../publish/publish.ts'
import { statusOf } from '../status/status.ts'
import type { Status } from '../task/lifecycle.ts'
import type { Task, View } from '../task/task.ts'
import type { PurgeJob } from '../types/type-job.ts'
import { remove } from './operate.ts'

/**
 * Removes the task if the purge means it: as it stands now, but with time standing still since the purge was asked for,
 * so that what was delayed then and has fallen due meanwhile is still meant, and what was published later never is.
 */
export function purge(task: Task, job: PurgeJob, now: number): Decision<'not-meant'> {
  if (isGone(task, now) || !isMeant(task, job)) return refuse('not-meant')
  return { ok: true, change: remove(task, now) }
}

function isMeant(task: Task, { statuses, before, askedAt }: PurgeJob): boolean {
  const since = task.state === 'open' ? task.createdAt : (task.finishedAt ?? task.updatedAt)
  return since < before && statuses.includes(statusOf(task, askedAt))
}

/** One bucket of the type's view in which a purge may find tasks, and between which sort keys. */
export type PurgeRange = {
  readonly bucket: View['bucket']
  readonly from?: number
  readonly to?: number
}

const ENDED = ['succeeded', 'failed', 'cancelled'] as const

/**
 * Where to look. What has ended and still owes callbacks stands among the open ones, by the time it was due; a running
 * task may have been given a due time to come.
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
