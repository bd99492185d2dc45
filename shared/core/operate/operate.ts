/**
 * Operations that callers ask for on an existing task. This file cancels, removes, restarts and purges; `patch.ts` patches.
 * `flow/resume.ts` resumes a failed flow.
 *
 * This file also has the two changes that record whether all callbacks of an ended task are published or some cannot be.
 */

import { SHOWN_RUNS_MAX, TOMBSTONE_MS } from '../bounds.ts'
import { type BodyWrite, type Change, type Decision, refuse, revise } from '../change.ts'
import { stepRuns } from '../flow/flow.ts'
import { withCancelledPiece } from '../flow/pieces.ts'
import { hasBegun, isGone, NOTHING_RUN, newborn, type Publication } from '../publish.ts'
import { ENDED_STATUSES } from '../states.ts'
import { statusOf } from '../status.ts'
import { undoName } from '../task/flow-state.ts'
import { firstFence, type Head, isTask } from '../task/head.ts'
import { afterFirstEnd, bodyExpiry, bodyRef, type View } from '../task/head-fields.ts'
import type { Status } from '../task/lifecycle.ts'
import { type EndedRun, endedRuns, isSuccess, liveRuns, type Task, type Unpublished } from '../task/task.ts'
import type { PurgeJob } from '../types/task-type.ts'
import { defined } from '../values/values.ts'

type CancelRefusal = 'finished' | 'already-cancelled' | 'undoing'

/**
 * Stops the task and keeps its record. Its runs end cancelled. A flow first undoes its steps, unless its type says `leave`. A flow
 * that already undoes its steps cannot be cancelled. A repeated cancel changes nothing.
 */
export function cancel(task: Task, now: number): Decision<CancelRefusal> {
  if (task.state === 'cancelled' || (task.state === 'open' && task.flow?.cancelling)) {
    return refuse('already-cancelled')
  }
  if (task.state !== 'open') return refuse('finished')
  if (task.flow?.direction === 'undo') return refuse('undoing')
  return revise(task, withCancelledPiece({ ...task, operation: 'cancel' }, now), now)
}

/** Records that all callbacks of the task's end are published. The task is listed among the ended ones from now on. */
export function recordCallbacksPublished(task: Task, now: number): Decision<'owes-nothing'> {
  const { owes, unpublished: _unpublished, ...settled } = task
  return owes ? revise(task, { ...settled, operation: 'settle' }, now) : refuse('owes-nothing')
}

/** Records that the present configuration of a type rejects some callbacks. The task keeps owing them; an operator must decide. */
export function recordUnpublishable(
  task: Task,
  unpublished: Unpublished,
  now: number,
): Decision<'owes-nothing'> {
  return task.owes ? revise(task, { ...task, unpublished, operation: 'owe' }, now) : refuse('owes-nothing')
}

/**
 * Removes the head and leaves a tombstone that outlives every message about the head. So no late message brings the head back, and
 * a later birth of the key keeps counting revisions and fences. A canvas counts a removed task among its ended members.
 */
export function remove<H extends Head>(head: H, now: number): Change<H> {
  return revise(head, tombstoneOf(head, now) as H, now).change
}

function tombstoneOf(head: Head, now: number): Head {
  const { id, type, key, born, revision, fence, shard, createdAt, options, dueAt } = head
  const kept = {
    ...{ id, type, key, born, revision, fence, shard, createdAt, options, dueAt },
    operation: 'remove' as const,
    state: 'removed' as const,
    updatedAt: now,
    expiresAt: now + TOMBSTONE_MS,
  }
  if (!isTask(head)) return { ...kept, kind: head.kind }
  const { kind, ordering, priority, member, causedBy } = head
  return {
    ...kept,
    ...{ kind, ordering, priority },
    ...NOTHING_RUN,
    ...defined({ causedBy, member: member && afterFirstEnd(member, head) }),
  }
}

/** The kinds of runs that a restart drops. */
export type Clean = ReadonlyArray<'failed' | 'succeeded'>

/** Why a task is not restarted. `owes`: the callbacks of its end are not published yet, and a restart would lose them. */
export type RestartRefusal = 'running' | 'not-finished' | 'nothing-to-do' | 'owes'

/** How a restarted task begins: a fresh publication under a new birth. */
type Restart = {
  readonly publication: Publication
  readonly clean: Clean
  /** Whether the task keeps its input, its stage, its callbacks and the value that was handed on to it. */
  readonly keepInput: boolean
  /** Whether a task that waits for its first or next run may be restarted, too. */
  readonly evenWaiting?: boolean
}

/**
 * Starts an ended task over under a new birth, so that no message about the old birth can change it. Successes still count unless
 * `clean` names them. The retry budget is fresh, and fences keep growing. What the former births did stays on record.
 */
export function restart(task: Task, how: Restart, now: number): Decision<RestartRefusal> {
  const refusal = whyNotRestarted(task, how)
  if (refusal) return refuse(refusal)
  const kept = task.flow
    ? []
    : endedRuns(task).filter(run => !how.clean.includes(isSuccess(run) ? 'succeeded' : 'failed'))
  const keptSuccesses = kept.filter(isSuccess).length
  if (keptSuccesses >= how.publication.options.concurrency) return refuse('nothing-to-do')
  const start = {
    revision: task.revision + 1,
    fence: Math.max(task.fence, firstFence(now)),
    operation: 'restart' as const,
  }
  const { task: fresh, bodies } = newborn(how.publication, start, now)
  const former = formerRuns(task)
  const draft: Task = {
    ...fresh,
    ended: Object.fromEntries(kept.map(run => [run.fence, run])),
    ...(how.keepInput && keptContent(task)),
    ...defined({
      operations: task.operations,
      firstBorn: task.firstBorn ?? (former.length > 0 ? task.born : undefined),
      causedBy: fresh.causedBy ?? task.causedBy,
      member: task.member && afterFirstEnd(task.member, task),
    }),
  }
  return revise(task, draft, now, { bodies: [...bodies, ...missingRecords(task, former, now)] })
}

function whyNotRestarted(task: Task, { evenWaiting }: Restart): RestartRefusal | undefined {
  // A restart would skip the undo of a step that has begun.
  if (liveRuns(task).length > 0 || (task.state === 'open' && hasBegun(task))) return 'running'
  if (task.state === 'removed' || (task.state === 'open' && !evenWaiting)) return 'not-finished'
  return task.owes && 'owes'
}

/** The ended runs that the head knows of, for a flow also those that have done or undone a step. */
function formerRuns(task: Task): EndedRun[] {
  const undone = Object.entries(task.flow?.steps ?? {}).flatMap(([index, { state, undo }]) => {
    const { fence, startedAt, endedAt } = (state === 'undone' && undo) || {}
    const piece = undoName(task.flow?.definition.steps[Number(index)]?.name ?? '')
    return fence !== undefined && startedAt !== undefined && endedAt !== undefined
      ? [{ fence, workerId: WORKER_UNKNOWN, state: 'succeeded' as const, startedAt, endedAt, piece }]
      : []
  })
  return [...endedRuns(task), ...stepRuns(task), ...undone]
}

/** The record of an undone step does not keep the worker, so that heads of undone flows stay within 1 KB. */
const WORKER_UNKNOWN = 'unknown'

/** The records of the last runs that have none yet. A run that ends without success gets one at its end, unless a cancel ended it. */
function missingRecords(task: Task, runs: readonly EndedRun[], now: number): BodyWrite[] {
  const expiresAt = bodyExpiry(task.dueAt, now, task.options.retentionMs)
  return runs
    .filter(({ state }) => state === 'succeeded' || state === 'cancelled')
    .sort((a, b) => b.fence - a.fence)
    .slice(0, SHOWN_RUNS_MAX)
    .map(run => ({ ref: bodyRef.run(task.born, run.fence), run, expiresAt }))
}

function keptContent(task: Task): Partial<Task> {
  const { input, limitValues, stage, callbacks, previous, immutable, parentId } = task
  return defined({ input, limitValues, stage, callbacks, previous, immutable, parentId })
}

/**
 * Removes the task if the purge covers it. The task as stored now is judged by its status at the time of the request. So a task that
 * was delayed then and has become due since counts as delayed. A task that was published later is never covered.
 */
export function purge(task: Task, job: PurgeJob, now: number): Decision<'not-covered'> {
  if (isGone(task, now) || !isCovered(task, job)) return refuse('not-covered')
  return { ok: true, change: remove(task, now) }
}

function isCovered(task: Task, { statuses, before, askedAt }: PurgeJob): boolean {
  const since = task.state === 'open' ? task.createdAt : (task.finishedAt ?? task.updatedAt)
  return since < before && statuses.includes(statusOf(task, askedAt))
}

/** A bucket of the type's view in which a purge may find tasks, and the range of sort keys to read. */
type PurgeRange = {
  readonly bucket: View['bucket']
  readonly from?: number
  readonly to?: number
}

/**
 * The ranges in which a purge may find tasks. An ended task that still owes callbacks is listed among the open ones by its due
 * time. A running task may have a due time in the future.
 */
export function rangesOfPurge({ statuses, before, askedAt }: PurgeJob): PurgeRange[] {
  const has = (status: Status) => statuses.includes(status)
  const ended = ENDED_STATUSES.filter(has)
  const isAfterDue = has('ready') || has('running') || ended.length > 0
  const isBeforeDue = has('delayed') || has('running')
  const open: PurgeRange = {
    bucket: 'open',
    ...(!isBeforeDue && { to: askedAt }),
    ...(!isAfterDue && { from: askedAt + 1 }),
  }
  return [
    ...(isAfterDue || isBeforeDue ? [open] : []),
    ...(has('compensating') ? [{ bucket: 'compensating' as const }] : []),
    ...ended.map(bucket => ({ bucket, to: before - 1 })),
  ]
}
