import { liveRuns, type Task } from '../task/task.ts'

/** After this time a recorded holder has claimed its task, or it never will. It is then stale (`mayBeStale`). */
const HOLDER_CLAIM_MS = 10_000
/**
 * No process takes a holder for stale that was recorded less than this time ago, because clocks differ by less than the 5 s up to
 * `HOLDER_CLAIM_MS`.
 */
export const FRESH_HOLDER_MS = 5_000
/** The holder of a permit: its id, the task whose run it stands for, and the time of its record. */
export type Holder = { readonly holder: string; readonly taskId: string; readonly since: number }

/** The permits that are held under a concurrency limit. */
export type HeldPermits = { readonly holders: readonly Holder[] }

/** Whether a holder is old enough to be removed if its task has no run with the permit. */
export function mayBeStale({ since }: Holder, now: number): boolean {
  return since + HOLDER_CLAIM_MS <= now
}

/**
 * Whether a worker holds a permit for a run of the task that may begin soon and that the head does not show yet. A holder that is
 * older than the head's last change does not count: its run has ended, or its claim will be refused.
 */
export function isBeingClaimed(task: Task, { holders }: HeldPermits, now: number): boolean {
  const begun = new Set(liveRuns(task).flatMap(({ permits = [] }) => permits.map(({ holder }) => holder)))
  const mayBegin = ({ holder, since }: Holder) => since >= task.updatedAt && !begun.has(holder)
  return holders.some(holder => holder.taskId === task.id && mayBegin(holder) && !mayBeStale(holder, now))
}
