import { BODY_GRACE_MS, TOMBSTONE_MS } from '../../core/bounds.ts'
import { bodyExpiry, bodyRef } from '../../core/task/body.ts'
import { separateBodies } from '../../core/task/head.ts'
import type { Task } from '../../core/task/task.ts'
import type { System } from '../kernel/system.ts'

/**
 * Bodies and run records that expire within this time are left to DynamoDB, which deletes them free of charge.
 * That covers a task with the default retention that is due within a week. Deleting costs a write unit per KB.
 */
const LEFT_TO_TTL_MS_MAX = TOMBSTONE_MS + BODY_GRACE_MS
/** A task has more records than this only with thousands of retries. */
const RECORDS_MAX = 1_000

/**
 * Deletes the bodies and run records of a removed task that would otherwise stay for months or years, such as
 * the input of a task due in ten years. A process that dies between the removal and this leaves them to expire
 * at their own time. `task` is the task before its removal.
 */
export async function deleteLastingBodies({ tasks, clock }: System, task: Task): Promise<void> {
  const until = clock.now() + LEFT_TO_TTL_MS_MAX
  const lasting = separateBodies(task).filter(({ expiresAt }) => expiresAt > until)
  const dropped = [...lasting, ...(await lastingRecords(tasks, task, until))]
  if (dropped.length > 0) await tasks.dropBodies(task.id, dropped)
}

/** Run records are listed nowhere but under their own keys. */
async function lastingRecords(
  tasks: System['tasks'],
  task: Task,
  until: number,
): Promise<Array<{ readonly ref: string }>> {
  const { id, born, fence, dueAt, updatedAt, options } = task
  if (fence === 0 || bodyExpiry(dueAt, updatedAt, options.retentionMs) <= until) return []
  const records = await tasks.runRecords(id, born, RECORDS_MAX)
  return records.map(record => ({ ref: bodyRef.run(born, record.fence) }))
}
