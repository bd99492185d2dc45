import { fencePassedAt } from './fence.ts'
import { TICK_REMAINS_MS } from './limits.ts'
import { SCHEDULE_TYPE } from './schedule/schedule.ts'
import { type Task, taskIdPrefix } from './task.ts'

/**
 * When the store may delete a task's item; undefined: not yet. Readers count it as gone from `expiresAt` on. A task that
 * owes callbacks stays until they are published, however short it is kept. A head stays until the fences of a new publication
 * begin beyond its own. The task of a tick stays for some days: its key is what keeps the tick from being published twice.
 */
export function deletableAt({ expiresAt, owes, fence, parentId, createdAt }: Task): number | undefined {
  if (expiresAt === undefined || owes) return undefined
  const isOfTick = parentId?.startsWith(taskIdPrefix(SCHEDULE_TYPE)) ?? false
  return Math.max(expiresAt, fencePassedAt(fence), isOfTick ? createdAt + TICK_REMAINS_MS : 0)
}
