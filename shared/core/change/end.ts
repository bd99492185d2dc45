import { bodyExpiry, bodyRef } from '../task/body.ts'
import type { HeadFields, HeadState } from '../task/head-fields.ts'
import { pieceOf } from '../task/piece.ts'
import { type EndedRun, type LiveRun, liveRuns, runInHead, type Task } from '../task/task.ts'
import { shortError, type TaskError } from '../task-error/task-error.ts'
import { membersWhere } from '../values/records.ts'
import type { BodyWrite } from './change.ts'

type EndState = Exclude<HeadState, 'open' | 'removed'>

/** The fields that each head gets at its end. Its retention begins. */
export function endFields<State extends EndState>(
  { options }: Pick<HeadFields, 'options'>,
  state: State,
  now: number,
  error?: TaskError,
) {
  return {
    state,
    finishedAt: now,
    expiresAt: now + options.retentionMs,
    ...(error && { error: shortError(error) }),
  }
}

/**
 * The draft of an ended task. Its live runs are cancelled, its retention begins, and it owes the callbacks for this end.
 */
export function withEnd(task: Task, state: EndState, now: number, error?: TaskError): Task {
  const { error: _earlier, owes: _owed, ...rest } = task
  return {
    ...rest,
    ...endFields(task, state, now, error),
    ...endRuns(task, liveRuns(task), { state: 'cancelled' }, now),
    retrying: false,
    retryAtBy: {},
    ...(owesCallbacks(task, state) && { owes: true as const }),
  }
}

/** A cancelled task publishes no callbacks. */
function owesCallbacks({ callbacks }: Task, state: EndState): boolean {
  if (!callbacks) return false
  return (state === 'succeeded' && callbacks.onSuccess > 0) || (state === 'failed' && callbacks.onError > 0)
}

type Ending = Pick<EndedRun, 'state'> &
  Partial<Pick<EndedRun, 'cause' | 'error' | 'result' | 'log' | 'reportDigest'>>

/** The live and ended runs of a task after these live runs have ended. */
export function endRuns(
  task: Task,
  runs: readonly LiveRun[],
  ending: Ending,
  now: number,
): Pick<Task, 'live' | 'ended'> {
  const ended = { ...task.ended }
  for (const run of runs) ended[run.fence] = runInHead(endedRun(task, run, ending, now))
  return { live: membersWhere(task.live, ({ fence }) => !ended[fence]), ended }
}

function endedRun(task: Task, run: LiveRun, ending: Ending, now: number): EndedRun {
  const { startedAt, leaseUntil: _until, timeoutAt: _at, leaseMs: _ms, permits: _held, ...rest } = run
  const piece = pieceOf(task)
  // A run may end before its reserved start, and its start must not lie behind its end. Its end is the time of this change: by that, events
  // and counts see the runs that a change ends.
  const times = { startedAt: Math.min(startedAt, now), endedAt: now }
  return { ...rest, ...times, ...ending, ...(piece !== undefined && { piece }) }
}

/**
 * The full record of a run that ends without success, as an item of its own. The head drops all but the last few such runs, and
 * keeps no stacks, causes or logs.
 */
export function runRecord(task: Task, run: LiveRun, ending: Ending, now: number): BodyWrite {
  const expiresAt = bodyExpiry(task.dueAt, now, task.options.retentionMs)
  return { ref: bodyRef.run(task.born, run.fence), run: endedRun(task, run, ending, now), expiresAt }
}
