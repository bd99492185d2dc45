import { recordedEnd } from './recorded-end.ts'
import type { EndedRun, Task } from './task.ts'

/** Why a run's word is refused. `ended`: an earlier word of its worker has ended the run. */
export type RunGone = 'ended' | 'lost' | 'cancelled' | 'removed' | 'excluded' | 'timed-out'

/**
 * What became of a run that is not live in `task` (the present state of its key, if any). Of a run that the task keeps no
 * longer only that is known: it has ended.
 */
export function whyGone(task: Task | undefined, run: { born: string; fence: number }): RunGone {
  if (!task || task.state === 'removed' || task.born !== run.born) return 'removed'
  const end = recordedEnd(task, run.fence)
  return end ? whyEnded(end) : 'ended'
}

/** Why a run that is on record as ended takes no further word. */
export function whyEnded({ state, cause }: Pick<EndedRun, 'state' | 'cause'>): RunGone {
  if (cause) return cause
  return state === 'lost' || state === 'cancelled' ? state : 'ended'
}
