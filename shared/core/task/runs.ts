import type { ENDED_RUN_STATES } from '../states.ts'
import type { Json } from '../values/json.ts'
import type { Body } from './body.ts'
import { shortError, type TaskError } from './error.ts'
import type { Permit } from './wait.ts'

export type LiveRun = {
  readonly fence: number
  readonly workerId: string
  readonly startedAt: number
  readonly leaseUntil: number
  /** The length of the lease at the run's claim. Set where the task's option has changed since. */
  readonly leaseMs?: number
  /** The time at which the run times out, by the options at its claim. Changed options apply at the next claim. */
  readonly timeoutAt?: number
  readonly progress?: Json
  /** The permits that the run holds under concurrency limits. */
  readonly permits?: readonly Permit[]
}

export type EndedRunState = (typeof ENDED_RUN_STATES)[number]
export type RunState = 'running' | EndedRunState

/** The cause of a run's end without a report of its worker: `workerIds` excluded the worker, or a timeout or deadline passed. */
export type EndCause = 'excluded' | 'timed-out'

export type EndedRun = {
  readonly fence: number
  readonly workerId: string
  readonly state: EndedRunState
  readonly startedAt: number
  readonly endedAt: number
  readonly result?: Body
  readonly error?: TaskError
  readonly cause?: EndCause
  readonly progress?: Json
  /** The newest log lines of a failed run's handler. Only the run's own record keeps them, never a head. */
  readonly log?: string
  /** The piece of the run, where a task has several: the stage, or a step as `reserve` or `undo reserve`. */
  readonly piece?: string
  /** Set on a success of a piece that is over. Such a success no longer counts. */
  readonly past?: true
  /** A digest of its worker's report beyond the state, the result and the short error. See `run/report.ts`. */
  readonly reportDigest?: string
}

/** An ended run as heads keep it: with a shortened error and without its log. */
export function runInHead({ log: _log, ...run }: EndedRun): EndedRun {
  return run.error ? { ...run, error: shortError(run.error) } : run
}
