import { TICK_REMAINS_MS } from '../bounds.ts'
import type { HeadFields } from './head-fields.ts'
import { SCHEDULE_TYPE } from './schedule-state.ts'
import { taskIdPrefix } from './task.ts'

/**
 * Where the fences of a key begin. A handler may guard its writes by key and fence, and refuse a fence smaller than the last one.
 * So the fences of a key must grow for ever, even when the task has expired and its key is published again.
 *
 * A first publication therefore begins at the number of seconds since a fixed time. The store deletes a head only after the time
 * that its last fence stands for.
 */

/** The fixed time. Any time before the first release serves. Seconds since then fit into 32 bits until 2094. */
export const FENCE_EPOCH_MS = Date.UTC(2026, 0, 1, 12)

/** The publisher's clock may be behind by less than this. */
const FENCE_SKEW_MS = 60_000

/**
 * The fence from which a publication at `now` counts on. It is larger than the fences of all heads that have been deleted by then.
 */
export function firstFence(now: number): number {
  return Math.max(0, Math.floor((now - FENCE_EPOCH_MS) / 1_000))
}

/** The time from which every publication begins beyond this fence. */
export function fencePassedAt(fence: number): number {
  return FENCE_EPOCH_MS + (fence + 1) * 1_000 + FENCE_SKEW_MS
}

type Ending = HeadFields & { readonly owes?: true; readonly parentId?: string }

/**
 * When the store may delete a task's item; undefined: not yet. Readers treat the task as gone from `expiresAt` on.
 *
 * - A task that owes callbacks stays until they are published, however short its retention.
 * - A head stays until the fences of a new publication begin beyond its own.
 * - The task of a tick stays for some days, because its key prevents a second publish of the tick.
 */
export function deletableAt({ expiresAt, owes, fence, parentId, createdAt }: Ending): number | undefined {
  if (expiresAt === undefined || owes) return undefined
  const isOfTick = parentId?.startsWith(taskIdPrefix(SCHEDULE_TYPE)) ?? false
  return Math.max(expiresAt, fencePassedAt(fence), isOfTick ? createdAt + TICK_REMAINS_MS : 0)
}
