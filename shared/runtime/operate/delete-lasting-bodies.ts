import { BODY_GRACE_MS, TOMBSTONE_MS } from '../../core/bounds.ts'
import { bodyExpiry, bodyRef, separateBodies } from '../../core/task/body.ts'
import type { Task } from '../../core/task/task.ts'
import type { System } from '../kernel/system.ts'

/**
 * Bodies and run records that expire within this time are left to DynamoDB, which deletes them for nothing: those of a
 * task with the default retention that is not due for weeks. Deleting costs a write unit per KB.
 */
const LEFT_TO_TTL_MS = TOMBSTONE_MS + BODY_GRACE_MS
/** More runs than that end unsuccessful only with retries by the thousand. */
const MAX_RECORDS = 1_000

/**
 * Deletes what a removed task leaves beside its head, if it would otherwise stay for months or years: the input of a task
 * due in ten years, the result of one that was to be kept as long. Whoever dies between removal and this leaves it to
 * expire at its own time. `task` is as it stood before its removal.
 */
export async function deleteLastingBodies({ tasks, clock }: System, task: Task): Promise<void> {
  const until = clock.now() + LEFT_TO_TTL_MS
  const lasting = separateBodies(task).filter(({ expiresAt }) => expiresAt > until)
  const dropped = [...lasting, ...(await lastingRecords(tasks, task, until))]
  if (dropped.length > 0) await tasks.dropBodies(task.id, dropped)
}

/** Records are nowhere listed but in their own keys. */
async function lastingRecords(
  tasks: System['tasks'],
  task: Task,
  until: number,
): Promise<Array<{ readonly ref: string }>> {
  const { id, born, fence, dueAt, updatedAt, options } = task
  if (fence === 0 || bodyExpiry(dueAt, updatedAt, options.retentionMs) <= until) return []
  const records = await tasks.runRecords(id, born, MAX_RECORDS)
  return records.map(record => ({ ref: bodyRef.run(born, record.fence) }))
}
