/**
 * Operations that callers ask for on an existing task. This file cancels and removes; `patch.ts`, `restart.ts` and `purge.ts` have
 * the others. `flow/resume.ts` resumes a failed flow.
 *
 * This file also has the two changes that record whether all callbacks of an ended task are published or some cannot be.
 */

import { TOMBSTONE_MS } from '../bounds.ts'
import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { withCancelledPiece } from '../flow/end-piece.ts'
import { afterFirstEnd } from '../task/canvas-state.ts'
import { type Head, isTask } from '../task/head.ts'
import type { Task, Unpublished } from '../task/task.ts'
import { defined } from '../values/defined.ts'

export type CancelRefusal = 'finished' | 'already-cancelled' | 'undoing'

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

/**
 * Records that the present configuration of a type rejects some callbacks. The task goes on owing them; an operator must decide.
 */
export function recordUnpublishable(
  task: Task,
  unpublished: Unpublished,
  now: number,
): Decision<'owes-nothing'> {
  return task.owes ? revise(task, { ...task, unpublished, operation: 'owe' }, now) : refuse('owes-nothing')
}

/**
 * Removes the head and leaves a tombstone that outlives every message about the head. So no late message brings the head back, and
 * a later birth of the key goes on counting revisions and fences. A canvas counts a removed task among its ended members.
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

const NOTHING_RUN = {
  retrying: false,
  live: {},
  ended: {},
  failures: 0,
  failuresBy: {},
  retryAtBy: {},
} as const
