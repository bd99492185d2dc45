/**
 * The plan of a head says which messages must be sent so that it continues.
 *
 * The problem. No process polls the open heads every second. A task continues only when it is announced: by a message under way, by
 * its entry in a place that claims or the waker read, or by a marker. So each open task must be announced at any time. The
 * announcement must take effect when the task needs attention, which may be in ten milliseconds or in ten years.
 *
 * The rule. The plan follows from the stored head and the time, from nothing else. The planner computes it at each change of the
 * head that the table's stream delivers. Any process that computes it again gets the same messages. So sending them twice does no
 * harm, and the sweeper repairs a lost message by planning again.
 *
 * The time until a message must arrive decides its way:
 *
 * - Up to 15 minutes ahead, a queue delays it (`QUEUE_DELAY_MS_MAX`, the longest delay of SQS). A dispatch is delayed to the due
 *   time. The delay is rounded down to a whole second, and the worker waits for the rest, so no start is late.
 * - Further ahead, the task enters the place of its minute in the index. One EventBridge schedule per minute stands for all tasks
 *   of that minute. It fires two minutes early, because EventBridge fires up to a minute late. The waker then dispatches all tasks
 *   in the place with the delay that is left. So a million tasks of one minute cost one schedule.
 * - A look at a live run is sent for the end of its lease. Each look sends the next one as long as heartbeats extend the lease.
 *   `lookRecord` in this file keeps the number of these looks small.
 *
 * The actors: the planner (`runtime/plan`) sends what the plan says; the waker (`runtime/wake`) answers a look with the
 * transition `look`, which records what it finds, or sends the next look; the sweeper (`runtime/sweep`) plans again.
 *
 * What can go wrong:
 *
 * - An EventBridge schedule does not fire, or could not be created. The sweeper wakes each minute that begins, has tasks, and was
 *   not woken.
 * - A message arrives early, twice, or after the task has changed. A look names the birth and the revision that it was planned on.
 *   A look of an older revision does its work and leaves the next look to the newer one.
 * - The clock of a process is wrong. A look that arrives early finds that nothing is due yet, and sends the next look.
 */

import { LOOK_SLACK_MS, QUEUE_DELAY_MS_MAX } from './bounds.ts'
import { planOfCanvas } from './canvas/canvas.ts'
import { type Change, type Decision, refuse, revise } from './change.ts'
import { isFar, minuteOf, readyPlaceOf, wakesAt, withIndexEntries } from './place/place.ts'
import { failRun, isComplete, isIndexedAsRunning } from './run/finish.ts'
import { expire, isPastDeadline, leaseEnded, lose } from './run/lease.ts'
import { planOfSchedule } from './schedule.ts'
import type { Head } from './task/head.ts'
import { isTakenInOrder, workOf } from './task/piece.ts'
import { isTargeted, type LiveRun, liveRuns, type Task, workersWanted } from './task/task.ts'
import { awaitedWorkers, nextOwnRetryAt, waitsForOwnRetry } from './worker.ts'

/**
 * The messages that must be sent so that a head continues in time, and other work that it needs. The plan follows from the stored
 * head, so sending it again is harmless.
 */
export type Plan = {
  /** Send a dispatch to the type's queue that arrives at this time. */
  readonly dispatchAt?: number
  /** Write a marker for each of these workers now. The task is due, and only they may take it. */
  readonly markFor?: readonly string[]
  /** Send a look that arrives at this time. If a queue cannot delay it so long, it arrives earlier, and another follows. */
  readonly lookAt?: number
  /** Have the jobs function continue the canvas at this time. */
  readonly driveAt?: number
  /** Publish the callbacks that the task owes. */
  readonly publishesCallbacks?: true
  /** Make sure that the EventBridge schedule of this minute (in minutes since the epoch) exists. */
  readonly minute?: number
}

/** A head and its plan. The planner decides the plan once for each change; several functions then send parts of it. */
export type Planned<H extends Head = Head> = { readonly head: H; readonly plan: Plan }

export function planned<H extends Head>(head: H, now: number): Planned<H> {
  return { head, plan: plan(head, now) }
}

export function plan(head: Head, now: number): Plan {
  switch (head.kind) {
    case 'canvas':
      return planOfCanvas(head, now)
    case 'schedule':
      return planOfSchedule(head, now)
    default:
      return planOfTask(head, now)
  }
}

function planOfTask(task: Task, now: number): Plan {
  if (task.state !== 'open') return endedPlan(task)
  const takesWorkers = workersWanted(task) > 0
  const waitsForMinute = takesWorkers && isFar(task, now)
  const lookAt = nextLook(task, now, waitsForMinute)
  const isWithinDelay = task.dueAt - now <= QUEUE_DELAY_MS_MAX
  const dispatches = takesWorkers && !waitsForMinute && isWithinDelay && isDispatched(task, now)
  const marks = takesWorkers && task.dueAt <= now && isTargeted(task)
  return {
    ...(waitsForMinute && { minute: minuteOf(wakesAt(task)) }),
    ...(dispatches && { dispatchAt: Math.max(task.dueAt, now) }),
    ...(marks && { markFor: awaitedWorkers(task).filter(id => !waitsForOwnRetry(task, id, now)) }),
    ...(lookAt !== undefined && { lookAt }),
  }
}

/** Callbacks that cannot be published are tried again when the sweeper sees a changed type, or when an operator asks for it. */
function endedPlan({ owes, unpublished }: Task): Plan {
  return owes && !unpublished ? { publishesCallbacks: true } : {}
}

/**
 * Whether a dispatch announces the task. A task that is taken in order gets one only once it is due and in its ready place. Looks at the
 * limit announce a task in a line.
 */
function isDispatched(task: Task, now: number): boolean {
  if (workOf(task).kind === 'http' || isTargeted(task) || task.wait) return false
  return !isTakenInOrder(task) || task.dueAt <= now
}

function nextLook(task: Task, now: number, waitsForMinute: boolean): number | undefined {
  const times = liveRuns(task)
    .flatMap(run => [run.leaseUntil, timesOutAt(run)])
    .map(time => time + LOOK_SLACK_MS)
  if (task.deadlineAt !== undefined && !waitsForMinute) times.push(task.deadlineAt)
  if (workersWanted(task) > 0 && !waitsForMinute && isLookedAtWhenDue(task, now)) times.push(task.dueAt)
  if (!waitsForMinute) times.push(nextOwnRetryAt(task) ?? Number.POSITIVE_INFINITY)
  if (isComplete(task) || isIndexedAsRunning(task)) times.push(task.updatedAt + LOOK_SLACK_MS)
  const next = Math.min(...times)
  return Number.isFinite(next) ? next : undefined
}

/** Whether the task needs a look at its due time. The look moves a task taken in order to its ready place, or marks a targeted one. */
function isLookedAtWhenDue(task: Task, now: number): boolean {
  if (isTargeted(task)) return task.dueAt > now
  return isTakenInOrder(task) && task.wait === undefined && task.place?.name !== readyPlaceOf(task)
}

function timesOutAt(run: LiveRun): number {
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
  /** The beginning of the id of the message that made the record. When SQS delivers that message again, its record may be repeated. */
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
