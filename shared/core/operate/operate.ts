/**
 * What people ask for on a task that is there: cancel, remove, patch, restart and purge. To take up a failed flow is in
 * `flow/resume.ts`. The two changes that follow a task's end, once its callbacks are published or cannot be, stand here, too.
 */

import { TOMBSTONE_MS } from '../bounds.ts'
import { type Change, type Decision, refuse, revise } from '../change/change.ts'
import { pieceCancelled } from '../flow/end-piece.ts'
import { afterFirstEnd } from '../task/canvas-state.ts'
import type { Task, Unpublished } from '../task/task.ts'

export type CancelRefusal = 'finished' | 'already-cancelled' | 'undoing'

/**
 * Stops the task and keeps its record; its runs end cancelled. A flow undoes what was done first, unless it is to leave
 * it, and cannot be stopped while it undoes what has failed. Repeating it changes nothing.
 */
export function cancel(task: Task, now: number): Decision<CancelRefusal> {
  if (task.state === 'cancelled' || (task.state === 'open' && task.flow?.cancelling)) {
    return refuse('already-cancelled')
  }
  if (task.state !== 'open') return refuse('finished')
  if (task.flow?.direction === 'undo') return refuse('undoing')
  return revise(task, pieceCancelled({ ...task, operation: 'cancel' }, now), now)
}

/** What the task's end owed has been published: it stands among the ended ones from now on. */
export function recordCallbacksPublished(task: Task, now: number): Decision<'owes-nothing'> {
  const { owes, unpublished: _unpublished, ...settled } = task
  return owes ? revise(task, { ...settled, operation: 'settle' }, now) : refuse('owes-nothing')
}

/** Some of what the task's end owes cannot be published as types are now: it stays owed, and a person has to decide. */
export function recordUnpublishable(
  task: Task,
  unpublished: Unpublished,
  now: number,
): Decision<'owes-nothing'> {
  return task.owes ? revise(task, { ...task, unpublished, operation: 'owe' }, now) : refuse('owes-nothing')
}

/**
 * Removes the task: what stays is a tombstone that outlives every message about it, so that nothing late brings it
 * back and a later birth of the key goes on counting revisions and fences. A canvas counts it among its ended members.
 */
export function remove(task: Task, now: number): Change {
  const { id, type, key, kind, ordering, born, revision, fence, shard, createdAt, options, dueAt, priority } =
    task
  const tombstone: Task = {
    id,
    type,
    key,
    kind,
    ordering,
    born,
    revision,
    operation: 'remove',
    state: 'removed',
    dueAt,
    retrying: false,
    priority,
    options,
    fence,
    live: {},
    ended: {},
    failures: 0,
    failuresBy: {},
    createdAt,
    updatedAt: now,
    expiresAt: now + TOMBSTONE_MS,
    shard,
    ...(task.member && { member: afterFirstEnd(task.member, task) }),
  }
  return revise(task, tombstone, now).change
}
