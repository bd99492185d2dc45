import type { Task } from './task.ts'

/** Why a run's word is refused. */
export type RunGone = 'lost' | 'cancelled' | 'removed' | 'excluded' | 'timed-out'

/** What became of a run that is not live in `task` (the present state of its key, if any). */
export function whyGone(task: Task | undefined, run: { born: string; fence: number }): RunGone {
  if (!task || task.state === 'removed' || task.born !== run.born) return 'removed'
  const ended = task.ended[run.fence]
  if (ended?.cause) return ended.cause
  return ended?.state === 'cancelled' || task.state === 'cancelled' ? 'cancelled' : 'lost'
}
