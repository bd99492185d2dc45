import { type Change, revise } from '../change.ts'
import { withSucceededPiece } from '../flow/pieces.ts'
import { isRunningPlace, sweptFrom } from '../place/place.ts'
import { lastSuccess } from '../task/piece.ts'
import { liveRuns, successes, type Task, workersWanted } from '../task/task.ts'

/**
 * A task may need the success of up to 100 different workers, and all of them may report at one moment. If the revision guarded
 * these writes, all but one would fail, and each failed write costs the units of the whole head.
 *
 * So a success that is not the last one needed is written as a *counted* change. Its guard is the birth and the run, which must be
 * stored as running. It moves that run from `live` to `ended`, sets the operation and the time of the last change, and adds one to the
 * stored revision. It changes no other path, so such writes never conflict with each other. All other writers still see that the task has changed, because the
 * revision has grown.
 *
 * The writer gets the whole head back. When the head has all successes that the task needs, it is *complete*: the task is open, and
 * only its end is missing. `endOfComplete` is that end, a second write that is guarded by the revision. The same write follows from
 * the same head, so any process may make it:
 *
 * - the worker whose success completed the head writes it at once
 * - a process that is about to change a complete head writes the end first, and then decides on the result
 * - the planner sees the complete head in the stream and sends a look, in case the worker died before it wrote the end
 * - the sweeper finds the head among the open ones when that look was lost
 *
 * Nothing can be lost between the two writes. The successes are stored, and no further worker can claim. A deadline that passes
 * between them cannot fail the task: the process that finds the deadline passed writes the end first, like every other writer.
 *
 * The revision still guards three kinds of successes:
 *
 * - A success that completes the head as its worker read it. It then needs one write, not two. Every success of a task that needs
 *   only one is of this kind.
 * - A success that names the next stage. The last success decides on the stage, so the order of the writes must be the order of the
 *   decisions.
 * - A success that also moves the task in an index, drops a retry that is due, or ends its wait for a limit. It changes more than its
 *   run.
 */

/** Whether the task has all successes that it needs, and only its end is not written yet. */
export function isComplete(task: Task): boolean {
  return task.state === 'open' && successes(task).length >= task.options.concurrency
}

/**
 * The end of a complete task, or the next step of its flow. It follows from the head alone: its time is the time of the last
 * success.
 */
export function endOfComplete(task: Task): Change<Task> | undefined {
  const last = isComplete(task) ? lastSuccess(task) : undefined
  if (!last) return undefined
  const now = last.endedAt
  return revise(task, withSucceededPiece({ ...task, operation: 'succeed' }, now), now).change
}

/**
 * Whether the indexes still show the task as running, though a counted change ended its last run and it now waits for another
 * worker. The next transition moves it.
 */
export function isIndexedAsRunning(task: Task): boolean {
  const isIdle = task.state === 'open' && liveRuns(task).length === 0 && workersWanted(task) > 0
  if (!isIdle || task.wait) return false
  const { place, view = { sort: task.dueAt } } = task
  return view.sort < sweptFrom(task) || (place !== undefined && isRunningPlace(place))
}

/**
 * The success of one run as a counted change, if it changes nothing but that run. Otherwise the change stays guarded by the revision.
 * `ended` is the ended runs with this success, before any old run is dropped: a counted change may add its run and remove none.
 */
export function asCountedChange(change: Change<Task>, ended: Task['ended'], fence: number): Change<Task> {
  const { before, after } = change
  if (!before || before.wait || entriesOf(before) !== entriesOf(after)) return change
  return {
    ...change,
    after: { ...after, ended },
    guard: { kind: 'counted', born: before.born, fence },
  }
}

function entriesOf({ view, place, retryAtBy }: Task): string {
  return JSON.stringify([view, place, retryAtBy])
}
