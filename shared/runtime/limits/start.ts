import {
  areUsable,
  claimableFrom,
  decideOnNewSlot,
  decideOnWrittenSlot,
  decideStart,
  decideWait,
  missingSlots,
  type Rates,
  type ReservedSlot,
  usableSlot,
  writtenSlot,
} from '../../core/limits/start.ts'
import { throttle } from '../../core/limits/wait.ts'
import type { Task } from '../../core/task/task.ts'
import type { Slot } from '../../core/task/wait.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import type { LimitRules } from './limit-rules.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { noteMissedSlot, reserveFreeSlot, reserveSlot } from './reserve-slots.ts'
import { endWaitOf, writeWait } from './written-wait.ts'

/**
 * Gets a claim its slots under rate limits. `core/limits/start.ts` decides; this file reserves, waits and writes. All rate limits
 * that count the task must allow the start.
 */

/**
 * How a claim uses slots.
 *
 * - `wait-for-slot`     a worker that received one task: the task starts in a slot of its own. The claim waits in place for a near
 *                       slot, and writes a far one to the task; `limits.ts` has the times. With `waitInPlace` it waits longer
 * - `only-free-slot`    a caller that asks again later, such as a claim over HTTP: it takes only what may start now
 * - `slots-of-tickets`  the receiver of a batch of tickets: see `slotsOfTickets`
 */
export type SlotUse =
  | { readonly kind: 'wait-for-slot'; readonly waitInPlace?: WaitInPlace }
  | { readonly kind: 'only-free-slot' }
  | TicketSlots

/**
 * Lets a task wait in its worker until `time` for a slot, instead of writing the slot to the task and sending its message back.
 * Returns earlier when the worker stops, and at once when too many of its tasks wait already.
 */
export type WaitInPlace = (time: number) => Promise<void>

type TicketSlots = {
  readonly kind: 'slots-of-tickets'
  readonly named: readonly Task[]
  /** The named tasks whose slots no other task has used yet. */
  readonly unused: Set<Task>
}

/**
 * For a batch of tickets. Each ticket names a task, but its receiver claims the best waiting task instead. A slot that a named task
 * has waited for is then used by the better task, and the named task waits for a new slot. A named task that is claimed itself may
 * wait for its slot.
 */
export function slotsOfTickets(named: readonly Task[]): SlotUse {
  return { kind: 'slots-of-tickets', named, unused: new Set(named) }
}

/**
 * Whether a claim starts under the rate limits.
 *
 * - `start`    it starts. The run counts as begun at `at`, however long the write of its claim takes. The claim may be written a
 *              little earlier; the handler then begins at `at`
 * - `waits`    the task's head records its slot, and the task is dispatched again for that time
 * - `not-now`  no slot can be used now, and nothing was written. One may be free at `notBefore`
 */
export type StartOutcome =
  | { readonly kind: 'start'; readonly at: number }
  | { readonly kind: 'waits' }
  | { readonly kind: 'not-now'; readonly notBefore?: number }

const WAITS = { kind: 'waits' } as const
const NOT_NOW = { kind: 'not-now' } as const

/** Whether a claim goes on to take permits, with the slot that it has waited for, if any. `waits`: the task's head records a far slot. */
type SlotWait = { readonly kind: 'go-on'; readonly reserved?: ReservedSlot } | typeof WAITS

/**
 * Waits until shortly before the task's slot. Called before permits are taken, so that a task that waits for its slot holds none.
 * Only a claim that waits for slots does anything here.
 */
export async function waitForSlot(
  system: System,
  task: Task,
  { rates, concurrencies }: LimitRules,
  slotUse: SlotUse,
): Promise<SlotWait> {
  if (slotUse.kind !== 'wait-for-slot') return { kind: 'go-on' }
  const takesPermits = concurrencies.length > 0
  const written = decideOnWrittenSlot(task, rates, { now: system.clock.now(), takesPermits })
  if (written.kind === 'far') return WAITS
  if (written.kind === 'wait-in-place') {
    await sleepUntil(system.clock, written.until)
    return { kind: 'go-on', reserved: written.reserved }
  }
  const [limited, ...others] = rates
  // Under several limits no slot is reserved ahead: it would be lost when another limit allows no start at its time.
  const isOnlyLimit = limited && others.length === 0 && !takesPermits
  if (!isOnlyLimit || !slotUse.waitInPlace) return { kind: 'go-on' }
  return waitInWorker(
    system,
    task,
    { limited, slot: await reserveSlot(system, limited) },
    slotUse.waitInPlace,
  )
}

async function waitInWorker(
  system: System,
  task: Task,
  reserved: ReservedSlot,
  waitInPlace: WaitInPlace,
): Promise<SlotWait> {
  const decide = (hasWaited: boolean) =>
    decideOnNewSlot(reserved.slot, { now: system.clock.now(), hasWaited })
  let next = decide(false)
  if (next.kind === 'wait-in-place') {
    await waitInPlace(next.until)
    next = decide(true)
  }
  return next.kind === 'use' ? { kind: 'go-on', reserved } : writeSlot(system, task, reserved)
}

/** Grants the start in slots under all `rates`. `reserved` is the slot that `waitForSlot` has waited for, if any. */
export function startInSlots(
  system: System,
  task: Task,
  rates: Rates,
  { slotUse, reserved }: { readonly slotUse: SlotUse; readonly reserved?: ReservedSlot | undefined },
): Promise<StartOutcome> {
  switch (slotUse.kind) {
    case 'wait-for-slot':
      return startInOwnSlots(system, task, rates, reserved)
    case 'only-free-slot':
      return startInFreeSlots(system, rates)
    case 'slots-of-tickets':
      return startInSlotsOfTickets(system, task, rates, slotUse)
  }
}

async function startInOwnSlots(
  system: System,
  task: Task,
  rates: Rates,
  reserved?: ReservedSlot,
): Promise<StartOutcome> {
  const own = reserved ?? writtenSlot(task, rates)
  if (own) await sleepUntil(system.clock, claimableFrom([own], rates.length))
  for (let missed = 0; ; missed++) {
    const slots = await slotsUnder(system, rates, own)
    const wait = decideWait(slots, system.clock.now(), missed)
    if (wait.kind === 'write-wait') return writeSlot(system, task, wait.reserved)
    const start = await startIn(system, slots)
    if (start.kind === 'start') return start
  }
}

/** A slot for each limit: the task's own as long as it is usable, and a new one for each other limit. */
async function slotsUnder(
  system: System,
  rates: Rates,
  own: ReservedSlot | undefined,
): Promise<ReservedSlot[]> {
  const { slots, missing } = missingSlots(rates, own, system.clock.now())
  const reserved = [...slots]
  for (const limited of missing) reserved.push({ limited, slot: await reserveSlot(system, limited) })
  return reserved
}

/** A process often misses its first slot. Then it reserves the next ones further ahead, so it tries twice. */
async function startInFreeSlots(system: System, rates: Rates): Promise<StartOutcome> {
  const first = await startInFreeSlotsOnce(system, rates)
  const hasMissed = first.kind === 'not-now' && first.notBefore === undefined
  return hasMissed ? startInFreeSlotsOnce(system, rates) : first
}

async function startInFreeSlotsOnce(system: System, rates: Rates): Promise<StartOutcome> {
  const slots: ReservedSlot[] = []
  for (const limited of rates) {
    const slot = await reserveFreeSlot(system, limited)
    if ('notBefore' in slot) return { kind: 'not-now', notBefore: slot.notBefore }
    slots.push({ limited, slot })
  }
  return startIn(system, slots)
}

async function startInSlotsOfTickets(
  system: System,
  task: Task,
  rates: Rates,
  tickets: TicketSlots,
): Promise<StartOutcome> {
  const granted = await ticketSlotsFor(system, task, rates, tickets)
  const missing = rates.filter(limited => !granted.some(one => one.limited === limited))
  if (missing.length === 0) return startIn(system, granted)
  // The task's own slot is still to come, and a ticket is sent for that time.
  if (task.wait?.kind === 'slot' && task.wait.at > system.clock.now()) return WAITS
  const isNamed = tickets.named.some(({ id }) => id === task.id)
  const start = await (isNamed ? startInOwnSlots(system, task, missing) : startInFreeSlots(system, missing))
  if (start.kind !== 'start') return start
  return areUsable(granted, start.at) ? start : NOT_NOW
}

/** For each limit, the task's own usable slot, or the slot of another named task, which thereby loses it. */
async function ticketSlotsFor(
  system: System,
  task: Task,
  rates: Rates,
  { unused }: TicketSlots,
): Promise<ReservedSlot[]> {
  const granted: ReservedSlot[] = []
  for (const limited of rates) {
    const own = usableSlot(task, limited, system.clock.now())
    const slot = own ?? (await takeSlotOfAnother(system, task, unused, limited))
    if (slot) granted.push({ limited, slot })
  }
  return granted
}

/** Ends the wait of the task that the slot was reserved for. Only one process succeeds, so the slot is used once. */
async function takeSlotOfAnother(
  system: System,
  task: Task,
  unused: Set<Task>,
  limited: Rates[number],
): Promise<Slot | undefined> {
  const slotOf = (other: Task) => usableSlot(other, limited, system.clock.now())
  for (const other of [...unused].filter(one => one.id !== task.id && slotOf(one))) {
    unused.delete(other)
    if (await endWaitOf(system, other)) return slotOf(other)
  }
  return undefined
}

/** Waits until shortly before the last of the slots and grants the start. `not-now` when a slot was missed. */
async function startIn(system: System, slots: readonly ReservedSlot[]): Promise<StartOutcome> {
  await sleepUntil(system.clock, claimableFrom(slots))
  const start = decideStart(slots, system.clock.now())
  if (start.kind === 'missed') {
    noteMissedSlot(system)
    return NOT_NOW
  }
  await oneAtATime(system, 'starts')
  return start
}

/** Records in the head that the task waits for the slot. The planner then dispatches it for that time. */
async function writeSlot(system: System, task: Task, { limited, slot }: ReservedSlot): Promise<typeof WAITS> {
  await oneAtATime(system, 'waits')
  await writeWait(system, task, current =>
    throttle(current, { ...slot, limit: limited.name }, system.clock.now()),
  )
  return WAITS
}
