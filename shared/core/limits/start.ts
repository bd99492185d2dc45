/**
 * When a claim starts under rate limits. These functions only decide, from the slots, the task's head and the present time.
 * `runtime/limits/start.ts` reserves the slots, waits and writes.
 *
 * A start takes a slot under each rate limit that counts the task. A claim waits in place for a near slot: less than 1 s ahead, or
 * less than 7.5 s for a standalone worker. It writes a later slot to the task, which is dispatched again for that time. A claim that
 * misses its slot reserves another one.
 */

import { WORKER_VISIBILITY_S } from '../bounds.ts'
import type { Task } from '../task/task.ts'
import type { Slot } from '../task/wait.ts'
import type { RateLimit } from '../types/task-type.ts'
import type { NamedLimit } from './limits.ts'
import { isUsable, rateText } from './slots.ts'

/** A claim waits in place for a slot at most this far ahead. A later slot is written to the task. */
const SLOT_WAIT_MS_MAX = 1_000
/**
 * A standalone worker lets a task wait in place this long at most. The task's message is hidden from other workers for twice that
 * time.
 */
const WORKER_WAIT_MS_MAX = (WORKER_VISIBILITY_S * 1_000) / 2
/** After this many missed slots in a row, the next slot is written to the task. */
const MISSED_SLOTS_MAX = 5
/** A dispatch comes less than this time before the slot that it is sent for. */
const DISPATCH_EARLY_MS_MAX = 2_000
/** Permits are taken this long before a slot. Until then a task that waits for its slot leaves them to other tasks. */
const PERMIT_LEAD_MS = 100
/**
 * A claim may be written this long before its slot. A process sometimes gets no processor time for a tenth of a second, and could
 * miss the slot.
 */
const CLAIM_LEAD_MS = 250

export type Rates = ReadonlyArray<NamedLimit<RateLimit>>

/** A slot under a limit: reserved just now, or one that a task has waited for. */
export type ReservedSlot = { readonly limited: NamedLimit<RateLimit>; readonly slot: Slot }

/**
 * What the slot that a task's head records means for a claim.
 *
 * - `none`           the head records no slot that the claim may still use
 * - `far`            the slot is 2 s or more ahead, and the task is dispatched again for it
 * - `wait-in-place`  the claim waits until shortly before the slot
 */
export type WrittenSlotDecision =
  | { readonly kind: 'none' | 'far' }
  | { readonly kind: 'wait-in-place'; readonly until: number; readonly reserved: ReservedSlot }

/** Decides on the slot that the task waits for. With `takesPermits`, the wait ends just in time to take them. */
export function decideOnWrittenSlot(
  task: Task,
  rates: Rates,
  { now, takesPermits }: { readonly now: number; readonly takesPermits: boolean },
): WrittenSlotDecision {
  const reserved = writtenSlot(task, rates)
  if (!reserved) return { kind: 'none' }
  const { at } = reserved.slot
  if (now > at && !areUsable([reserved], now)) return { kind: 'none' }
  // A worker that receives the task before its slot must not put the start off by reserving another slot.
  if (at - now >= DISPATCH_EARLY_MS_MAX) return { kind: 'far' }
  return { kind: 'wait-in-place', until: at - (takesPermits ? PERMIT_LEAD_MS : CLAIM_LEAD_MS), reserved }
}

/** What a claim does with the slot that it has just reserved: uses it soon, waits in place for it, or writes it to the task. */
export type NewSlotDecision =
  | { readonly kind: 'use' | 'write-wait' }
  | { readonly kind: 'wait-in-place'; readonly until: number }

/** Decides on a new slot, for a worker that may let the task wait in place. After that wait, `hasWaited` is true. */
export function decideOnNewSlot(
  { at }: Slot,
  { now, hasWaited }: { readonly now: number; readonly hasWaited: boolean },
): NewSlotDecision {
  const leftMs = at - now
  const mayWait = !hasWaited && leftMs > CLAIM_LEAD_MS && leftMs < WORKER_WAIT_MS_MAX
  if (mayWait) return { kind: 'wait-in-place', until: at - CLAIM_LEAD_MS }
  return { kind: leftMs < SLOT_WAIT_MS_MAX ? 'use' : 'write-wait' }
}

/** Whether a claim waits in place for the last of its slots, or writes that slot to the task. */
export type WaitDecision =
  | { readonly kind: 'wait-in-place'; readonly until: number }
  | { readonly kind: 'write-wait'; readonly reserved: ReservedSlot }

/** Decides how a claim waits for `slots`, after it has missed earlier ones `missed` times in a row. */
export function decideWait(slots: readonly ReservedSlot[], now: number, missed: number): WaitDecision {
  const last = lastOf(slots)
  const isFar = last !== undefined && last.slot.at - now >= SLOT_WAIT_MS_MAX
  return last && (isFar || missed === MISSED_SLOTS_MAX)
    ? { kind: 'write-wait', reserved: last }
    : { kind: 'wait-in-place', until: claimableFrom(slots) }
}

/**
 * From when on a claim may be written for its slots. Under one limit that is a little before the slot. Under several limits it is
 * the time of the last slot: only then is it known which earlier slots were missed and must be reserved again. 0 without slots.
 */
export function claimableFrom(slots: readonly ReservedSlot[], limitCount = slots.length): number {
  const last = lastOf(slots)
  return last ? last.slot.at - (limitCount > 1 ? 0 : CLAIM_LEAD_MS) : 0
}

/** Whether a run may begin in its slots, and when: `at` may lie a little ahead. `missed`: one of the slots is not usable then. */
export type StartDecision = { readonly kind: 'start'; readonly at: number } | { readonly kind: 'missed' }

export function decideStart(slots: readonly ReservedSlot[], now: number): StartDecision {
  const at = Math.max(now, ...slots.map(({ slot }) => slot.at))
  return areUsable(slots, at) ? { kind: 'start', at } : { kind: 'missed' }
}

/** Whether a start at this time may use all the slots. */
export function areUsable(slots: readonly ReservedSlot[], at: number): boolean {
  return slots.every(({ limited, slot }) => isUsable(slot, limited.limit, at))
}

/** The slot that the task waits for, if it was reserved under one of `rates` as they are now. It may have passed. */
export function writtenSlot({ wait }: Task, rates: Rates): ReservedSlot | undefined {
  if (wait?.kind !== 'slot') return undefined
  const limited = rates.find(one => isUnder(wait.limit, wait, one))
  return limited && { limited, slot: wait }
}

/** The slot that the task waits for, if a start may use it now under the limit. */
export function usableSlot(task: Task, limited: NamedLimit<RateLimit>, now: number): Slot | undefined {
  const written = writtenSlot(task, [limited])
  return written && areUsable([written], now) ? written.slot : undefined
}

/** The limits for which a start can use the slot `reserved`, now or at the slot's time, and the limits that still need a slot. */
export function missingSlots(
  rates: Rates,
  reserved: ReservedSlot | undefined,
  now: number,
): { readonly slots: readonly ReservedSlot[]; readonly missing: Rates } {
  if (!reserved || decideStart([reserved], now).kind === 'missed') return { slots: [], missing: rates }
  const covers = (limited: NamedLimit<RateLimit>) => isUnder(reserved.limited.name, reserved.slot, limited)
  return {
    slots: rates.filter(covers).map(limited => ({ limited, slot: reserved.slot })),
    missing: rates.filter(limited => !covers(limited)),
  }
}

function isUnder(name: string, slot: Slot, limited: NamedLimit<RateLimit>): boolean {
  return name === limited.name && slot.rateText === rateText(limited.limit)
}

function lastOf(slots: readonly ReservedSlot[]): ReservedSlot | undefined {
  return slots.toSorted((a, b) => a.slot.at - b.slot.at).at(-1)
}
