import { TICK_REMAINS_MS } from '../bounds.ts'
import type { HeadFields } from './head-fields.ts'
import { SCHEDULE_TYPE } from './schedule-state.ts'
import { taskIdPrefix } from './task.ts'

/**
 * The fences of a key grow for ever, even when the task has expired and its key is published again. A handler may rely on this: it
 * may guard its own writes by key and fence, and refuse a fence smaller than the last one.
 *
 * A first publication therefore begins at the number of seconds since a fixed time. The store deletes a head only after the time
 * at which a new publication would begin beyond the head's last fence.
 */

/** The fixed time: any time before the first release. The seconds since then fit into a signed integer of 32 bits until 2094. */
export const FENCE_EPOCH_MS = Date.UTC(2026, 0, 1, 12)

/** The clock of a publishing process may be behind by less than this. */
const FENCE_SKEW_MS = 60_000

/**
 * The fence with which a publication at `now` begins; its first claim gets the next one. It is larger than the last fence of every
 * head of the key that the store has deleted by then.
 */
export function firstFence(now: number): number {
  return Math.max(0, Math.floor((now - FENCE_EPOCH_MS) / 1_000))
}

/** The time from which every new publication begins beyond this fence. */
export function fencePassedAt(fence: number): number {
  return FENCE_EPOCH_MS + (fence + 1) * 1_000 + FENCE_SKEW_MS
}

type Ending = HeadFields & { readonly owes?: true; readonly parentId?: string }

/**
 * The time from which the store may delete a head; undefined while it may not. Readers treat the head as gone from `expiresAt` on.
 *
 * - A task that owes callbacks stays until they are published, however short its retention.
 * - A head stays until the fences of a new publication begin beyond its own.
 * - The task of a tick stays for `TICK_REMAINS_MS` after its creation, because its key prevents a second publish of the tick.
 */
export function deletableAt({ expiresAt, owes, fence, parentId, createdAt }: Ending): number | undefined {
  if (expiresAt === undefined || owes) return undefined
  const isOfTick = parentId?.startsWith(taskIdPrefix(SCHEDULE_TYPE)) ?? false
  return Math.max(expiresAt, fencePassedAt(fence), isOfTick ? createdAt + TICK_REMAINS_MS : 0)
}
