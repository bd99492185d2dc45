import { TICK_REMAINS_MS } from './limits.ts'
import { SCHEDULE_TYPE } from './schedule/schedule.ts'
import { type Task, taskIdPrefix } from './task.ts'

/**
 * When the store may delete a task's item; undefined: not yet. Readers count it as gone from `expiresAt` on. A task that
 * owes callbacks stays until they are published. The task of a tick stays for some days: its key is what keeps the tick
 * from being published twice.
 */
export function deletableAt({ expiresAt, owes, parentId, createdAt }: Task): number | undefined {
  if (expiresAt === undefined || owes) return undefined
  const isOfTick = parentId?.startsWith(taskIdPrefix(SCHEDULE_TYPE)) ?? false
  return isOfTick ? Math.max(expiresAt, createdAt + TICK_REMAINS_MS) : expiresAt
}
