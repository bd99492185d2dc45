/**
 * The waker's transition: what a look at a task finds. `plan` says when the next look must arrive, and `look-chain.ts` keeps the number of
 * looks small.
 */

import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { runRecord } from '../change/end-runs.ts'
import { withIndexEntries } from '../place/place.ts'
import { retryDelayMs } from '../run/backoff.ts'
import { expire, isPastDeadline } from '../run/deadline.ts'
import { withFailedRun } from '../run/finish.ts'
import { leaseEnded, lose } from '../run/lose.ts'
import { isIndexedAsRunning } from '../run/several-successes.ts'
import { isSamePiece } from '../task/piece.ts'
import type { LiveRun } from '../task/runs.ts'
import { liveRuns, type Task } from '../task/task.ts'
import { nextOwnRetryAt, withRetryAt } from '../worker/own-retries.ts'

/** When the run exceeds its time limit. */
export function timesOutAt(run: LiveRun): number {
  return run.timeoutAt ?? Number.POSITIVE_INFINITY
}

/**
 * Records the finding of a look: a passed deadline, a lost run, a run over its timeout, or a task that now belongs in another
 * place, or the retry of one worker that is due. A task in another place has become due and is taken in order, or its last run has
 * ended. Refused when the task needs nothing yet. The waker then sends the next look.
 */
export function look(task: Task, now: number, chance: number): Decision<'nothing-yet'> {
  if (task.state !== 'open') return refuse('nothing-yet')
  if (isPastDeadline(task, now)) return { ok: true, change: expire(task, now) }
  if (liveRuns(task).some(run => leaseEnded(run, now))) {
    const lost = lose(task, now)
    if (lost.ok) return lost
  }
  const overdue = liveRuns(task).find(run => timesOutAt(run) <= now)
  if (overdue) return { ok: true, change: timeOut(task, overdue, now, chance) }
  const surfaced = task.wait ? task : withIndexEntries(task, now)
  const isElsewhere = surfaced.place !== undefined && surfaced.place.name !== task.place?.name
  const hasOwnRetryDue = (nextOwnRetryAt(task) ?? now + 1) <= now
  if (isElsewhere || isIndexedAsRunning(task) || hasOwnRetryDue) {
    return revise(task, { ...task, operation: 'surface' }, now)
  }
  return refuse('nothing-yet')
}

function timeOut(task: Task, run: LiveRun, now: number, chance: number): Change<Task> {
  const error = {
    name: 'TimedOut',
    message: `the run took longer than ${timesOutAt(run) - run.startedAt} ms`,
  }
  const draft = withFailedRun(task, run, { error, cause: 'timed-out' }, now)
  const bodies = runRecord(task, run.fence, { state: 'failed', cause: 'timed-out', error }, now)
  if (draft.state !== 'open' || !isSamePiece(task, draft)) return revise(task, draft, now, { bodies }).change
  const retryAt = now + retryDelayMs(draft, run.workerId, chance)
  return revise(task, withRetryAt(draft, run.workerId, retryAt), now, { bodies }).change
}
