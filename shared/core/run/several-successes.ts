import { type Change, revise } from '../change/change.ts'
import { pieceSucceeded } from '../flow/end-piece.ts'
import { isRunningPlace } from '../place/place-names.ts'
import { lastSuccess } from '../task/result.ts'
import { liveRuns, openSlots, successes, type Task } from '../task/task.ts'

/**
 * A task may need the success of up to 100 different workers, and all of them may report it at one moment. A write that is
 * guarded by the revision would fail for all of them but one, and each failed write costs the units of the whole head.
 *
 * So a success that leaves others still needed is written beside them, as a *counted* change: its guard is the birth and the
 * run, which is stored as running. It moves that run from `live` to `ended` by its own paths, and the store adds one to
 * whatever revision it holds. Such writes never conflict with each other. All other writers still see that the task has
 * changed, because the revision has grown.
 *
 * The writer gets the whole head back. When that holds all successes the task needs, the head is *complete*: the task is
 * open, and only its end is missing. `completed` is that end, as a second write that is guarded by the revision. The same
 * write follows from the same head, so any process may make it:
 *
 * - the worker whose success completed the head writes it at once
 * - every transition that meets a complete head writes the end first, and is decided on what it left
 * - the planner sees the complete head in the stream and has the waker look at it, in case the worker died in between
 * - the sweeper finds the head among the open ones when that look was lost
 *
 * Nothing can be lost in between: the successes are stored, no slot is open, and a deadline cannot fail the task before its
 * end is written, since that would be a transition that meets a complete head.
 *
 * Two kinds of successes stay guarded by the revision. The success that completes the head as its worker sees it needs one
 * write that way, not two; that is every success of a task that needs one. And where a success names the next stage, the
 * last of them decides where the task goes: the order of the writes must be the order of the decisions.
 */

/** Whether the task has all successes that it needs, and only its end is not written yet. */
export function isComplete(task: Task): boolean {
  return task.state === 'open' && successes(task).length >= task.options.concurrency
}

/**
 * The end of a complete task, or its flow's next step. It follows from the head alone: the end has the time of the last
 * success.
 */
export function endOfComplete(task: Task): Change | undefined {
  const last = isComplete(task) ? lastSuccess(task) : undefined
  if (!last) return undefined
  const now = last.endedAt
  return revise(task, pieceSucceeded({ ...task, operation: 'succeed' }, now), now).change
}

/**
 * Whether the last run of the task has ended beside others and left it in the place of running tasks, though it waits for
 * another worker now. The next transition takes it out.
 */
export function isLeftInRunningPlace(task: Task): boolean {
  const isIdle = task.state === 'open' && liveRuns(task).length === 0 && openSlots(task) > 0
  return isIdle && !task.wait && task.place !== undefined && isRunningPlace(task.place)
}

/**
 * The success of one run as a counted change, if it changes nothing but that run. A success that also moves the task to
 * another place, or ends its wait for a limit, keeps the guard of the revision.
 */
export function asCountedChange(change: Change, draft: Task, fence: number): Change {
  const { before, after } = change
  if (!before || before.wait || JSON.stringify(before.place) !== JSON.stringify(after.place)) return change
  return {
    ...change,
    after: { ...after, ended: draft.ended },
    guard: { kind: 'counted', born: before.born, fence },
  }
}
