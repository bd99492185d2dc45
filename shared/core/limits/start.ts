/**
 * When a claim starts under rate limits. These functions only decide, from slots and the present time. `runtime/limits/start.ts` reserves
 * the slots and waits.
 *
 * A start takes a slot under each rate limit that counts the task. A claim reserves only slots that it can wait for in place, and gives
 * back those that it does not use.
 */

import { WORKER_VISIBILITY_S } from '../bounds.ts'
import type { Slot } from '../task/wait.ts'
import type { RateLimit } from '../types/task-type.ts'
import type { NamedLimit } from './limits.ts'
import { isUsable } from './slots.ts'

/** A claim waits in place for a slot at most this far ahead. */
export const SLOT_WAIT_MS_MAX = 2_000
/**
 * A standalone worker lets a task wait in place this long at most. The task's message is hidden from other workers for twice that
 * time.
 */
export const WORKER_WAIT_MS_MAX = (WORKER_VISIBILITY_S * 1_000) / 2
/** After this many missed slots in a row, the task joins the line of the limit. */
export const MISSED_SLOTS_MAX = 5
/** Permits are taken this long before a slot. Until then a task that waits for its slot leaves them to other tasks. */
const PERMIT_LEAD_MS = 100
/**
 * A claim may be written this long before its slot. A process sometimes gets no processor time for a tenth of a second, and could
 * miss the slot.
 */
const CLAIM_LEAD_MS = 250

export type Rates = ReadonlyArray<NamedLimit<RateLimit>>

/** A slot under a limit that a claim has reserved. */
export type ReservedSlot = { readonly limited: NamedLimit<RateLimit>; readonly slot: Slot }

/**
 * Until when a claim waits in place. Under one limit that is a little before the slot. Under several limits it is the time of the last
 * slot: only then is it known which earlier slots were missed and must be reserved again.
 */
export function claimableFrom(slots: readonly ReservedSlot[], takesPermits: boolean): number {
  const lead = takesPermits ? PERMIT_LEAD_MS : CLAIM_LEAD_MS
  return lastTime(slots) - (slots.length > 1 ? 0 : lead)
}

/** The slots that a start can use when the last of them has come; the others are missed. */
export function usableSlots(slots: readonly ReservedSlot[], now: number): readonly ReservedSlot[] {
  const at = Math.max(now, lastTime(slots))
  return slots.filter(({ limited, slot }) => isUsable(slot, limited.limit, at))
}

/** When a run in these slots starts: `at` may lie a little ahead. */
export function startTime(slots: readonly ReservedSlot[], now: number): number {
  return Math.max(now, lastTime(slots))
}

/** The time of the last slot. 0 without slots. */
export function lastTime(slots: readonly ReservedSlot[]): number {
  return Math.max(0, ...slots.map(({ slot }) => slot.at))
}
