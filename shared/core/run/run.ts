/**
 * A run is one worker's hold on a task. Read the room in this order:
 *
 * - `claim.ts`       begins a run, and bounds the answer that shows it
 * - `lease.ts`       keeps a run alive by heartbeats, and ends it by its lease or by a deadline
 * - `finish.ts`      ends a run by its worker's report; `report.ts` recognises a repeated report
 * - `judge-budget.ts` judges the retry budget after each failure; `backoff.ts` says how long the task waits before a retry
 * - the end of `finish.ts` explains how many workers may succeed at one moment
 *
 * This file has the types of reports. It also finds what a task still knows of an ended run, so that a late report of its worker
 * gets the right answer.
 */

import type { RUN_GONE_REASONS } from '../states.ts'
import type { ActionRecord } from '../task/flow-state.ts'
import type { EndedRun, Task } from '../task/task.ts'
import type { TaskError } from '../task-error/task-error.ts'
import { defined, type Json } from '../values/values.ts'

/** A worker's report of the end of its run: the birth and the fence of the run, and its outcome. */
export type Finish = { readonly born: string; readonly fence: number } & Outcome

export type Outcome =
  /** `next` moves the task to another stage instead of ending it. */
  | { readonly outcome: 'succeed'; readonly result?: Json; readonly next?: NextStage }
  | {
      readonly outcome: 'fail'
      readonly error: TaskError
      readonly fatal?: boolean
      readonly retryInMs?: number
      /** The newest log lines of its handler, at most `RUN_LOG_BYTES_MAX`. */
      readonly log?: string
    }
  | { readonly outcome: 'release'; readonly delayMs?: number }

export type OutcomeOf<Name extends Outcome['outcome']> = Extract<Outcome, { outcome: Name }>

/** The stage with which a task continues. An absent `input` or `priority` stays unchanged. Without `delayMs` the stage is due at once. */
export type NextStage = {
  readonly stage: string
  readonly input?: Json
  readonly priority?: number
  readonly delayMs?: number
}

/** Why a report about a run is refused. `ended`: an earlier report of its worker has ended the run. */
export type RunGone = (typeof RUN_GONE_REASONS)[number]

/**
 * Why a report about a run that is not live is refused. `task` is the present head of the run's key, if one exists. When the task
 * has dropped the run, the answer is only that it ended.
 */
export function whyGone(task: Task | undefined, run: { born: string; fence: number }): RunGone {
  if (!task || task.state === 'removed' || task.born !== run.born) return 'removed'
  const end = recordedEnd(task, run.fence)
  return end ? whyEnded(end) : 'ended'
}

/** Why a run that is recorded as ended takes no further report. */
export function whyEnded({ state, cause }: Pick<EndedRun, 'state' | 'cause'>): RunGone {
  if (cause) return cause
  return state === 'lost' || state === 'cancelled' ? state : 'ended'
}

/** The record of an ended run. The record of a flow's step keeps less of the run that ended the step. */
export type RecordedEnd = Pick<EndedRun, 'state' | 'endedAt'> &
  Partial<
    Pick<
      EndedRun,
      'workerId' | 'startedAt' | 'result' | 'error' | 'cause' | 'piece' | 'past' | 'reportDigest'
    >
  >

/**
 * The record of an ended run of the task's birth. Undefined when the run is live, or when the task has dropped it. A task keeps all
 * successes of the present piece, the run that ended each step, and the last few others.
 */
export function recordedEnd({ ended, flow }: Task, fence: number): RecordedEnd | undefined {
  const run = ended[fence]
  if (run) return run
  for (const { do: done, undo, result } of Object.values(flow?.steps ?? {})) {
    if (done.fence === fence) return { ...endOfStep(done), ...(result && { result }) }
    // No record keeps the result of an undo.
    if (undo?.fence === fence) return { ...endOfStep(undo), past: true }
  }
  return undefined
}

function endOfStep(action: ActionRecord): RecordedEnd {
  const { workerId, startedAt, ranAt = startedAt, endedAt = 0, reportDigest } = action
  return { state: 'succeeded', endedAt, ...defined({ workerId, startedAt: ranAt, reportDigest }) }
}
