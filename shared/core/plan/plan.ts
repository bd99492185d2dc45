/**
 * The plan of a task is what must be sent so that the task goes on: dispatches, markers, looks and schedules of minutes. It is
 * derived from the stored head alone, whenever that changes. A look is the answer to such a message: it finds what time has
 * done to the task. `look-chain.ts` keeps the number of looks at one run small.
 */

import { LOOK_SLACK_MS, QUEUE_DELAY_MS_MAX } from '../bounds.ts'
import { driveAt } from '../canvas/canvas.ts'
import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { runRecord } from '../change/end-runs.ts'
import { indexed, isFar, isReady, minuteOf, readyPlaceOf, startsAt, wakesAt } from '../place/place.ts'
import { expire, isPastDeadline } from '../run/deadline.ts'
import { failed } from '../run/finish.ts'
import { retryDelayMs } from '../run/judge-budget.ts'
import { leaseEnded, lose } from '../run/lose.ts'
import { isComplete, isLeftInRunningPlace } from '../run/several-successes.ts'
import { isTicking } from '../schedule/schedule.ts'
import { isSamePiece, isTakenInOrder, workOf } from '../task/piece.ts'
import { isTargeted, type LiveRun, liveRuns, openSlots, type Task } from '../task/task.ts'
import { awaitedWorkers } from '../worker/targeted.ts'

/**
 * What must be sent so that a task is looked at when it must be: all derived from the stored task, so that sending it
 * again is harmless and the sweeper can repair whatever got lost by planning again.
 */
export type Plan = {
  /** Tell the type's workers at this time. */
  readonly dispatchAt?: number
  /** Mark the task now for each of these workers: it is due, and theirs alone. */
  readonly markFor?: readonly string[]
  /** Send a look that arrives at this time (a long way off: as far as a queue can delay, then again). */
  readonly lookAt?: number
  /** Have the waker see to the canvas at this time. */
  readonly driveAt?: number
  /** Publish what the task's end owes. */
  readonly publishesCallbacks?: true
  /** Make sure this minute's schedule exists (minutes since the epoch). */
  readonly minute?: number
}

/** The plan for a task as it stands. */
export function plan(task: Task, now: number): Plan {
  if (task.canvas) return canvasPlan(task, now)
  if (task.schedule) return schedulePlan(task, now)
  if (task.state !== 'open') return endedPlan(task)
  const hasSlot = openSlots(task) > 0
  const isInMinute = hasSlot && isFar(task, now)
  const lookAt = nextLook(task, now, isInMinute)
  const isWithinDelay = startsAt(task) - now <= QUEUE_DELAY_MS_MAX
  const dispatches = hasSlot && !isInMinute && isWithinDelay && isDispatched(task, now)
  const marks = hasSlot && task.dueAt <= now && isTargeted(task)
  return {
    ...(isInMinute && { minute: minuteOf(wakesAt(task)) }),
    ...(dispatches && { dispatchAt: Math.max(startsAt(task), now) }),
    ...(marks && { markFor: awaitedWorkers(task) }),
    ...(lookAt !== undefined && { lookAt }),
  }
}

/** What cannot be published is tried again when a type has changed, which the sweeper sees, or when a person says so. */
function endedPlan({ owes, unpublished }: Task): Plan {
  return owes && !unpublished ? { publishesCallbacks: true } : {}
}

/**
 * When a look must see to the dispatch of a ready task whose slot is farther off than a queue can delay: as soon as it can.
 * Undefined for all other tasks.
 */
export function slotLookAt(task: Task, now: number): number | undefined {
  const isFarOff = startsAt(task) - now > QUEUE_DELAY_MS_MAX
  if (!isFarOff || openSlots(task) === 0 || !isReady(task, now) || !isDispatched(task, now)) return undefined
  return startsAt(task) - QUEUE_DELAY_MS_MAX
}

/** A task that is taken in order is dispatched once it stands in its ready place, where the worker may take another first. */
function isDispatched(task: Task, now: number): boolean {
  if (workOf(task).kind === 'http' || isTargeted(task) || task.wait?.kind === 'permit') return false
  return !isTakenInOrder(task) || task.dueAt <= now
}

/**
 * A canvas's own head is never dispatched, and its debt is its members'. Whoever notes progress sees to the rest himself;
 * if his message is lost, the sweeper finds the canvas quiet.
 */
function canvasPlan(canvas: Task, now: number): Plan {
  const driveAtTime = canvas.operation === 'patch' ? undefined : driveAt(canvas, now)
  return driveAtTime === undefined ? {} : { driveAt: driveAtTime }
}

/** Nobody is told of a schedule: the waker looks at it when it is due. */
function schedulePlan(schedule: Task, now: number): Plan {
  if (!isTicking(schedule)) return {}
  const { dueAt } = schedule
  return dueAt - now > QUEUE_DELAY_MS_MAX ? { minute: minuteOf(dueAt) } : { lookAt: dueAt }
}

function nextLook(task: Task, now: number, isInMinute: boolean): number | undefined {
  const times = liveRuns(task)
    .flatMap(run => [run.leaseUntil, runLimit(run)])
    .map(time => time + LOOK_SLACK_MS)
  if (task.deadlineAt !== undefined && !isInMinute) times.push(task.deadlineAt)
  if (openSlots(task) > 0 && !isInMinute && isLookedAtWhenDue(task, now)) times.push(task.dueAt)
  const slotLook = slotLookAt(task, now)
  if (slotLook !== undefined) times.push(slotLook)
  if (isComplete(task) || isLeftInRunningPlace(task)) times.push(task.updatedAt + LOOK_SLACK_MS)
  const next = Math.min(...times)
  return Number.isFinite(next) ? next : undefined
}

/** What no dispatch tells of: what is taken in order must move to its ready place, a targeted task must be marked. */
function isLookedAtWhenDue(task: Task, now: number): boolean {
  if (isTargeted(task)) return task.dueAt > now
  return isTakenInOrder(task) && task.wait === undefined && task.place?.name !== readyPlaceOf(task)
}

function runLimit(run: LiveRun): number {
  return run.timeoutAt ?? Number.POSITIVE_INFINITY
}

/**
 * What a look finds: a passed deadline, a run that is lost or over its limit, a task taken in order that has become due
 * and moves to its ready place. Refused when the task needs nothing yet; the look is then armed anew.
 */
export function look(task: Task, now: number, chance: number): Decision<'nothing-yet'> {
  if (task.state !== 'open') return refuse('nothing-yet')
  if (isPastDeadline(task, now)) return { ok: true, change: expire(task, now) }
  if (liveRuns(task).some(run => leaseEnded(run, now))) {
    const lost = lose(task, now)
    if (lost.ok) return lost
  }
  const overdue = liveRuns(task).find(run => runLimit(run) <= now)
  if (overdue) return { ok: true, change: timeOut(task, overdue, now, chance) }
  const surfaced = task.wait ? task : indexed(task, now)
  const isElsewhere = surfaced.place !== undefined && surfaced.place.name !== task.place?.name
  if (isElsewhere || isLeftInRunningPlace(task)) {
    return revise(task, { ...task, operation: 'surface' }, now)
  }
  return refuse('nothing-yet')
}

function timeOut(task: Task, run: LiveRun, now: number, chance: number): Change {
  const error = { name: 'TimedOut', message: `the run took longer than ${runLimit(run) - run.startedAt} ms` }
  const draft = failed(task, run, { error, cause: 'timed-out' }, now)
  const bodies = runRecord(task, run.fence, { state: 'failed', cause: 'timed-out', error }, now)
  if (draft.state !== 'open' || !isSamePiece(task, draft)) return revise(task, draft, now, { bodies }).change
  const dueAt = now + retryDelayMs(draft, run.workerId, chance)
  return revise(task, { ...draft, dueAt, retrying: true }, now, { bodies }).change
}
