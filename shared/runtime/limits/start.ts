import type { NamedLimit } from '../../core/limits/limits.ts'
import type { Line } from '../../core/limits/line.ts'
import type { Rates, ReservedSlot } from '../../core/limits/slots.ts'
import {
  claimableFrom,
  lastTime,
  MISSED_SLOTS_MAX,
  SLOT_WAIT_MS_MAX,
  startTime,
  usableSlots,
  WORKER_WAIT_MS_MAX,
} from '../../core/limits/slots.ts'
import type { RateLimit } from '../../core/types/task-type.ts'
import { type System, sleepUntil } from '../kernel/system.ts'
import { giveBackSlot, noteMissedSlot, reserveSlot } from './reserve-slots.ts'

/** Gets a claim its slots under rate limits, and waits in place for them. All rate limits that count the task must allow the start. */

/**
 * How a claim uses slots.
 *
 * - `wait-for-slot`   the claim waits in place for a slot some seconds ahead; with `room`, in a standalone worker, longer
 * - `only-free-slot`  a caller that asks again later, such as a claim over HTTP: it takes only what may start now
 *
 * `isBest`: the claim takes the best task of its type, so no task in a line comes before it.
 */
export type SlotUse = {
  readonly kind: 'wait-for-slot' | 'only-free-slot'
  readonly room?: WaitRoom
  readonly isBest?: true
}

/** Where tasks wait in a standalone worker for slots that are some seconds ahead. */
export type WaitRoom = {
  /** Lets a task in. False when too many of the worker's tasks wait already. */
  enter(): boolean
  leave(): void
  /** Waits until `time`, or until the worker stops. */
  sleepUntil(time: number): Promise<void>
}

/** The slots of a claim: reserved and near enough to claim in them now. Or the limit that has no near slot, and when it may have one. */
export type SlotOutcome =
  | { readonly ok: true; readonly slots: readonly ReservedSlot[] }
  | { readonly ok: false; readonly line: Line; readonly notBefore: number }

/** Reserves a slot under each rate limit, and waits in place until the claim may be written. */
export async function reserveStart(
  system: System,
  rates: Rates,
  { kind, room }: SlotUse,
  takesPermits: boolean,
): Promise<SlotOutcome> {
  const waitMs = kind === 'only-free-slot' ? 0 : SLOT_WAIT_MS_MAX
  const sleep = (time: number) => sleepUntil(system.clock, time)
  const near = await reserveAll(system, rates, { takesPermits, waitMs, sleep })
  // Under several limits no slot far ahead is reserved: it would be lost when another limit allows no start at its time.
  const mayStay = !near.ok && room !== undefined && rates.length === 1 && !takesPermits && room.enter()
  if (!mayStay) return near
  try {
    return await reserveAll(system, rates, {
      ...{ takesPermits, waitMs: WORKER_WAIT_MS_MAX },
      sleep: room.sleepUntil,
    })
  } finally {
    room.leave()
  }
}

type Waiting = {
  readonly waitMs: number
  readonly takesPermits: boolean
  sleep(time: number): Promise<void>
}

/** A process often misses its first slot. After each miss it reserves the next one further ahead. */
async function reserveAll(
  system: System,
  rates: Rates,
  { waitMs, takesPermits, sleep }: Waiting,
): Promise<SlotOutcome> {
  let slots: readonly ReservedSlot[] = []
  // Missed slots are given back by the write that reserves the next ones.
  let returned: Promise<void> | undefined
  for (let nth = 0; nth < MISSED_SLOTS_MAX; nth++) {
    const reserved = await reserveMissing(system, rates, slots, waitMs)
    await returned
    if (!reserved.ok) return reserved
    slots = reserved.slots
    const until = claimableFrom(slots, takesPermits)
    await sleep(until)
    const { clock } = system
    const usable = usableSlots(slots, clock.now())
    const hasEndedEarly = until - clock.now() > SLOT_WAIT_MS_MAX
    if (usable.length === rates.length && !hasEndedEarly) return { ok: true, slots }
    const missed = hasEndedEarly ? slots : slots.filter(one => !usable.includes(one))
    returned = giveBackSlots(system, missed)
    const [first] = missed
    if (hasEndedEarly && first) {
      await returned
      return refused(first.limited, first.slot.at)
    }
    noteMissedSlot(system)
    slots = usable
  }
  await Promise.all([returned, giveBackSlots(system, slots)])
  return refused(rates[0] as NamedLimit<RateLimit>, system.clock.now())
}

/** Reserves a slot under each limit that has none yet. When one limit has no near slot, all are given back. */
async function reserveMissing(
  system: System,
  rates: Rates,
  kept: readonly ReservedSlot[],
  waitMs: number,
): Promise<SlotOutcome> {
  let slots = kept
  for (const limited of rates.filter(({ name }) => !kept.some(one => one.limited.name === name))) {
    const slot = await reserveSlot(system, limited, { waitMs, from: lastTime(slots) })
    if ('notBefore' in slot) {
      await giveBackSlots(system, slots)
      return refused(limited, slot.notBefore)
    }
    slots = [...slots, { limited, slot }]
  }
  return { ok: true, slots }
}

function refused({ name }: NamedLimit<RateLimit>, notBefore: number): SlotOutcome {
  return { ok: false, line: { kind: 'slot', limit: name }, notBefore }
}

/** Gives back slots that no start will use. */
export async function giveBackSlots(system: System, slots: readonly ReservedSlot[]): Promise<void> {
  await Promise.all(slots.map(({ limited, slot }) => giveBackSlot(system, limited, slot)))
}

/** When a run in these slots starts. Undefined when the slots were missed meanwhile. */
export function startIn(system: System, slots: readonly ReservedSlot[]): number | undefined {
  const now = system.clock.now()
  return usableSlots(slots, now).length === slots.length ? startTime(slots, now) : undefined
}
