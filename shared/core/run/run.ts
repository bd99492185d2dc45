/**
 * A run is one worker's hold on a task. A claim begins it (`claim.ts`), heartbeats keep it (`heartbeat.ts`), and it ends by its
 * worker's word (`finish.ts`), by its lease (`lose.ts`) or by a deadline (`deadline.ts`). `settle.ts` judges the retry budget
 * after each failure. `several-successes.ts` explains how many workers may succeed at one moment.
 *
 * This file says what a task still knows of a run that is not live, since a late word of its worker must get the right answer.
 */

import type { RUN_GONE_REASONS } from '../states.ts'
import type { EndedRun, Task } from '../task/task.ts'

/** Why a run's word is refused. `ended`: an earlier word of its worker has ended the run. */
export type RunGone = (typeof RUN_GONE_REASONS)[number]

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

/** What a task keeps of a run that has ended. Of a run that ended a flow's step, the record of the step keeps less. */
export type RecordedEnd = Pick<EndedRun, 'state' | 'endedAt'> &
  Partial<Pick<EndedRun, 'workerId' | 'startedAt' | 'result' | 'error' | 'cause' | 'piece' | 'past' | 'word'>>

/**
 * How a run of the task's birth ended; undefined where it is live, or where the task does not keep it any more: it keeps
 * all successes of the present piece, the run that ended each step, and the last few others.
 */
export function recordedEnd({ ended, flow }: Task, fence: number): RecordedEnd | undefined {
  const run = ended[fence]
  if (run) return run
  for (const { do: done, undo, result } of Object.values(flow?.steps ?? {})) {
    if (done.fence === fence) return { ...endOfStep(done), ...(result && { result }) }
    // What an undo returns is kept nowhere.
    if (undo?.fence === fence) return { ...endOfStep(undo), past: true }
  }
  return undefined
}

type Action = NonNullable<Task['flow']>['steps'][string]['do']

function endOfStep({
  workerId,
  startedAt,
  ranAt = startedAt,
  endedAt = 0,
  reportDigest: word,
}: Action): RecordedEnd {
  return {
    state: 'succeeded',
    endedAt,
    ...(workerId !== undefined && { workerId }),
    ...(ranAt !== undefined && { startedAt: ranAt }),
    ...(word !== undefined && { reportDigest: word }),
  }
}
