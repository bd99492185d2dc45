/**
 * The waker's transition: what a look at a task finds. `plan` says when the next look must arrive. `lookRecord` keeps the number of looks
 * small.
 */

import { LOOK_SLACK_MS } from '../bounds.ts'
import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { withIndexEntries } from '../place/place.ts'
import { failRun } from '../run/finish.ts'
import { expire, isPastDeadline, leaseEnded, lose } from '../run/lose.ts'
import { isIndexedAsRunning } from '../run/several-successes.ts'
import { type LiveRun, liveRuns, type Task } from '../task/task.ts'
import { nextOwnRetryAt } from '../worker/own-retries.ts'

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
  const message = `the run took longer than ${timesOutAt(run) - run.startedAt} ms`
  return failRun(task, run, { error: { name: 'TimedOut', message }, cause: 'timed-out' }, now, chance)
}

/**
 * A chain of messages looks at a run: each look sends the next one for the end of the lease. SQS may deliver a look twice, the
 * stream may show a change twice, and the sweeper may send a look in addition to one that is only late. Each of these begins a chain of its
 * own. Without a check all these chains would live as long as the run.
 *
 * So a chain records its progress in the head: at its first look that sends another one, and then at every eighth look. Among
 * several chains at one revision only the most advanced one may record itself. A chain that may not record itself ends. A run
 * within its first lease costs no record. A long run costs an eighth of a write unit per lease.
 */
const LOOKS_PER_RECORD = 8

/** A record of a chain of looks in the head of a running task. */
export type LookRecord = {
  /** How many looks the chain has sent. */
  readonly hops: number
  /**
   * The beginning of the id of the message that made the record. When SQS delivers that message again, its record may be repeated.
   */
  readonly name: string
  /** The time by which the chain records itself again. Afterwards it counts as lost, and any other chain may record itself. */
  readonly until: number
}

/** SQS usually delivers a look at most this long after its time. A later look counts as lost. */
const LOOK_LATE_MS = 5_000
/** Characters of a message's id that a record keeps. They suffice to distinguish messages, and heads must stay small. */
const NAME_CHARACTERS = 8

/** The record that a chain makes before it sends its look number `hops`; undefined when it sends that look without a record. */
export function lookRecord(
  task: Task,
  look: { readonly hops: number; readonly messageId: string },
  now: number,
): LookRecord | undefined {
  const runs = liveRuns(task)
  const { hops, messageId } = look
  if (runs.length === 0 || hops % LOOKS_PER_RECORD !== 1) return undefined
  const leaseMs = Math.max(...runs.map(run => run.leaseMs ?? task.options.leaseMs))
  const until = now + LOOKS_PER_RECORD * (leaseMs + LOOK_SLACK_MS + LOOK_LATE_MS)
  return { hops, name: messageId.slice(0, NAME_CHARACTERS), until }
}
