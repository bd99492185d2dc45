import { type Change, type Decision, refuse, revise } from './change.ts'
import { TOMBSTONE_MS } from './limits.ts'
import { finished } from './settle.ts'
import type { Task } from './task.ts'

/** Stops the task and keeps its record; its runs end cancelled. Repeating it changes nothing. */
export function cancel(task: Task, now: number): Decision<'finished' | 'already-cancelled'> {
  if (task.state === 'cancelled') return refuse('already-cancelled')
  if (task.state !== 'open') return refuse('finished')
  return revise(task, finished({ ...task, operation: 'cancel' }, 'cancelled', now), now)
}

/**
 * Removes the task: what stays is a tombstone that outlives every message about it, so that nothing late brings it
 * back and a later birth of the key goes on counting revisions and fences.
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
  }
  return revise(task, tombstone, now).change
}
