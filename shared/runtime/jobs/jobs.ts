/**
 * A job works on all tasks of a type, page by page. It sends them again after a pause, sorts them again, looks at the
 * lines of changed limits, purges them, or does what an operator asked for many of them. A job runs in a function of its own and continues in a new message
 * when its time is over. Each step may be repeated without harm.
 *
 * This file works on every kind of job, and `types/change-type.ts` starts one. `sweep-purges.ts` begins a purge,
 * records how far it is, and continues it when its message was lost. `bulk.ts` does the same for a bulk operation.
 */

import { purge } from '../../core/operate/operate.ts'
import type { Task } from '../../core/task/task.ts'
import type { JobLook, PurgeJob } from '../../core/types/task-type.ts'
import type { IndexEntry } from '../../ports/stores.ts'
import { isolateEach, readTask, readTasksInOrder } from '../kernel/heads.ts'
import { ofSameBirth, transact } from '../kernel/kernel.ts'
import type { System } from '../kernel/system.ts'
import { lookAtLines } from '../limits/line.ts'
import { deleteLastingBodies, withoutNeeded } from '../operate/operate.ts'
import { viewRange } from '../place/ready.ts'
import { sendMessages } from '../plan/plan.ts'
import { publishCallbacksOfTask } from '../plan/publish-callbacks.ts'
import { followPresentTypes, jobRanges, throwIfUnsent } from '../types/change-type.ts'
import { workOnBulk } from './bulk.ts'
import { recordPurgeProgress } from './sweep-purges.ts'

const PAGE_TASKS = 100
const CHANGES_AT_ONCE_MAX = 25

/** Works on a job page by page, in the order of the view index. At `stopAt` it leaves the rest to a new message. */
export async function workOnJob(system: System, begun: JobLook, stopAt: number): Promise<void> {
  let look = begun
  const { type, job, bucket, shard } = look
  if (job.kind === 'bulk') return workOnBulk(system, job.id, stopAt)
  const range = jobRanges(job, system.clock.now()).find(one => one.bucket === bucket)
  if (!range) return
  const { bucket: _bucket, ...bounds } = range
  let position: IndexEntry | undefined = look.after
  await recordProgress(system, look, position)
  for (;;) {
    if (system.clock.now() >= stopAt) {
      const rest = { ...look, ...(position && { after: position }), delaySeconds: 0 }
      await recordProgress(system, look, position)
      return throwIfUnsent(system.messages.continueJobs([rest]), job)
    }
    const page = await system.tasks.page({
      ...viewRange(type, bucket, shard, bounds),
      limit: PAGE_TASKS,
      ...(position && { after: position }),
    })
    const ids = page.entries.map(({ id }) => id)
    look = await workOnPage(system, look, await readTasksInOrder(system, ids))
    position = page.entries.at(-1) ?? position
    if (!page.more) return recordProgress(system, look, position, true)
  }
}

/**
 * Records the progress of a purge, which stays listed in its type until it is done. Other jobs need no record: the
 * sweeper finds the tasks that they leave undone.
 */
async function recordProgress(system: System, look: JobLook, after: IndexEntry | undefined, isDone = false) {
  const { job } = look
  if (job.kind === 'purge')
    await recordPurgeProgress(system, { ...look, job }, { isDone, ...(after && { after }) })
}

/** Works on the tasks of one page. Returns the look that continues the job. */
async function workOnPage(system: System, look: JobLook, tasks: readonly Task[]): Promise<JobLook> {
  const { job } = look
  switch (job.kind) {
    case 'resume':
      await sendAgain(system, tasks)
      return look
    case 'relimit':
      await throwIfUnsent(
        lookAtLines(
          system,
          tasks.flatMap(({ wait }) => wait ?? []),
        ),
        job,
      )
      return look
    case 'bulk':
      return look
    case 'reorder':
      await followPresentTypes(system, tasks)
      return look
    case 'purge': {
      const unneeded = await withoutNeeded(system, tasks, task => purge(task, job, system.clock.now()).ok)
      await isolateEach(system, unneeded, CHANGES_AT_ONCE_MAX, task => purgeTask(system, job, task))
      return unneeded.length < tasks.length ? { ...look, job: { ...job, hasSpared: true } } : look
    }
  }
}

async function sendAgain(system: System, tasks: readonly Task[]): Promise<void> {
  const failures = (await sendMessages(system, tasks)).filter(({ transient }) => transient)
  if (failures[0]) throw new Error(`${failures.length} tasks could not be sent again: ${failures[0].reason}`)
}

/** Removes the task if the purge covers it as it is when it is written, so a repetition or an outdated list does no harm. */
async function purgeTask(system: System, job: PurgeJob, seen: Task): Promise<void> {
  if (!purge(seen, job, system.clock.now()).ok) return
  const head = await withoutOwedCallbacks(system, seen)
  const { decision } = await transact(
    system,
    head,
    ofSameBirth(seen, current => (current.owes ? NOT_COVERED : purge(current, job, system.clock.now()))),
  )
  if (decision.ok && decision.change.before) await deleteLastingBodies(system, decision.change.before)
}

const NOT_COVERED = { ok: false, reason: 'not-covered' } as const

/** Publishes owed callbacks before the task is removed, so that they are not lost with it. */
async function withoutOwedCallbacks(system: System, seen: Task): Promise<Task | undefined> {
  if (!seen.owes) return seen
  await publishCallbacksOfTask(system, seen)
  return readTask(system, seen.id)
}
