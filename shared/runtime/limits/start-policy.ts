import { WORKER_VISIBILITY_S } from '../../core/bounds.ts'
import { isUsable, rateText } from '../../core/limits/slots.ts'
import { endWait, throttle } from '../../core/limits/wait.ts'
import { isSamePiece } from '../../core/task/piece.ts'
import type { Task } from '../../core/task/task.ts'
import type { Slot } from '../../core/task/wait.ts'
import type { RateLimit } from '../../core/types/task-type.ts'
import { applyChange } from '../kernel/apply-change.ts'
import { transact } from '../kernel/kernel.ts'
import { sleepUntil } from '../kernel/moment.ts'
import type { System } from '../kernel/system.ts'
import type { LimitRules, NamedLimit } from './limits.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { noteMissedSlot, reserveSlot, reserveSlotNow, type SlotUnavailable } from './reserve-slots.ts'

type Rates = ReadonlyArray<NamedLimit<RateLimit>>

/**
 * How a claim gets its slots under rate limits. All rate limits that count the task must allow the start.
 *
 * Three policies exist: `startInOwnSlot` for a worker that received one task, `startAtOnce` for a caller that takes only
 * what may start now, and `startByTickets` for a batch of tickets.
 */
export type StartPolicy = {
  /**
   * Called before permits are taken, so that a task that waits for its slot holds no permit. Returns shortly before the
   * slot that the task waits for, with that slot; undefined when it has none. `later`: the slot is too far ahead, and the
   * task is dispatched again at that time.
   */
  awaitSlot?(system: System, task: Task, rules: LimitRules): Promise<ReservedSlot | 'later' | undefined>
  /**
   * Grants the start, with the slot that `awaitSlot` returned, if any. Undefined: the task cannot start now, because its
   * slot is still to come or a slot was missed. `SlotUnavailable`: no slot is free now, and the caller has to ask again.
   */
  start(
    system: System,
    task: Task,
    rates: Rates,
    reserved?: ReservedSlot,
  ): Promise<Start | SlotUnavailable | undefined>
}

/**
 * Lets a worker wait in place until `time` for a slot, instead of writing the slot to the task and sending its message
 * back. Returns earlier when the worker stops, and at once when too many of its tasks wait already.
 */
export type WaitList = (time: number) => Promise<void>

/**
 * A start that the limits have granted. The run counts as begun at `at`, however long the write of its claim takes. The
 * claim may be written a little earlier; then the handler has to wait until `at`.
 */
type Start = { readonly at: number }

/**
 * A start waits in place for a slot at most this far ahead. A later slot is written to the task, and its message returns
 * to the queue.
 */
const SLOT_WAIT_MS_MAX = 1_000
/** A worker with a wait list waits in place for a slot at most this far ahead, while the message is hidden from others. */
const WAIT_LIST_MS_MAX = (WORKER_VISIBILITY_S * 1_000) / 2
/** After this many missed slots in a row, the next slot is written to the task. */
const MISSED_SLOTS_MAX = 5
/** A dispatch comes less than this time before the slot that it is sent for. */
const DISPATCH_EARLY_MS_MAX = 2_000
/**
 * Permits are taken this long before a slot. A task that waits for its slot for longer leaves the permits to other
 * tasks until then.
 */
const PERMIT_LEAD_MS = 100
/**
 * A claim may be written this long before its slot. A process sometimes gets no processor time for a tenth of a second,
 * and could miss the slot.
 */
const CLAIM_LEAD_MS = 250

/** A slot under a limit: reserved just now, or one that a task has waited for. */
export type ReservedSlot = { readonly limited: NamedLimit<RateLimit>; readonly slot: Slot }

/**
 * The policy of a worker that received one task: the task starts in a slot of its own. It waits for a near slot in place,
 * in the wait list if there is one. A later slot is written to the task, which is dispatched again for it.
 */
export function startInOwnSlot(waitList?: WaitList): StartPolicy {
  return {
    awaitSlot: (system, task, rules) => awaitOwnSlot(system, task, rules, waitList),
    start: startAtSlot,
  }
}

async function awaitOwnSlot(
  system: System,
  task: Task,
  { rates, concurrencies }: LimitRules,
  waitList: WaitList | undefined,
): Promise<ReservedSlot | 'later' | undefined> {
  const { clock } = system
  const written = ownSlot(task, rates)
  const hasPassed = written && clock.now() > written.slot.at && !areUsable([written], clock.now())
  const own = hasPassed ? undefined : written
  // A worker that receives the task before its slot must not put the start off by reserving another slot.
  if (own && own.slot.at - clock.now() >= DISPATCH_EARLY_MS_MAX) return 'later'
  if (own) await sleepUntil(clock, own.slot.at - (concurrencies.length > 0 ? PERMIT_LEAD_MS : CLAIM_LEAD_MS))
  if (own || !waitList) return own
  const [rate, ...otherRates] = rates
  // Under several limits no slot is reserved ahead: it would be lost when another limit allows no start at its time.
  if (!rate || otherRates.length + concurrencies.length > 0) return undefined
  return reserveAndWait(system, task, rate, waitList)
}

async function reserveAndWait(
  system: System,
  task: Task,
  limited: NamedLimit<RateLimit>,
  waitList: WaitList,
): Promise<ReservedSlot | 'later'> {
  const slot = await reserveSlot(system, limited)
  const leftMs = () => slot.at - system.clock.now()
  const mayWaitInPlace = leftMs() > CLAIM_LEAD_MS && leftMs() < WAIT_LIST_MS_MAX
  if (mayWaitInPlace) await waitList(slot.at - CLAIM_LEAD_MS)
  if (leftMs() < SLOT_WAIT_MS_MAX) return { limited, slot }
  await writeSlotToTask(system, task, { limited, slot })
  return 'later'
}

async function startAtSlot(
  system: System,
  task: Task,
  rates: Rates,
  reserved?: ReservedSlot,
): Promise<Start | undefined> {
  const own = reserved ?? ownSlot(task, rates)
  if (own) await sleepUntil(system.clock, own.slot.at - claimLeadMs(rates))
  for (let missed = 0; ; missed++) {
    const slots = await slotsFor(system, rates, own)
    const last = slots.at(-1)
    if (last && (missed === MISSED_SLOTS_MAX || last.slot.at - system.clock.now() >= SLOT_WAIT_MS_MAX)) {
      await writeSlotToTask(system, task, last)
      return undefined
    }
    const start = await startIn(system, slots)
    if (start) return start
  }
}

/** The policy of a caller that takes only what may start now, and asks again later. */
export const startAtOnce: StartPolicy = {
  // A process often misses its first slot. Each missed slot makes it reserve the next ones further ahead (`startIn`).
  start: async (system, _task, rates) => (await startNow(system, rates)) ?? startNow(system, rates),
}

async function startNow(system: System, rates: Rates): Promise<Start | SlotUnavailable | undefined> {
  const slots: ReservedSlot[] = []
  for (const limited of rates) {
    const slot = await reserveSlotNow(system, limited)
    if ('notBefore' in slot) return slot
    slots.push({ limited, slot })
  }
  return startIn(system, slots.sort(byTime))
}

/**
 * The policy for a batch of tickets. Each ticket names a task, but its receiver claims the best waiting task instead. A
 * slot that a named task has waited for is then used by the better task, and the named task waits for a new slot. A named
 * task that is claimed itself may wait for its slot.
 */
export function startByTickets(named: readonly Task[]): StartPolicy {
  const unspent = [...named]
  return {
    start: async (system, task, rates) => {
      const granted = await grantedSlots(system, task, unspent, rates)
      const missing = rates.filter(limited => !granted.some(one => one.limited === limited))
      if (missing.length === 0) return startIn(system, granted)
      // The task's own slot is still to come, and a ticket is sent for that time.
      if (task.wait?.kind === 'slot' && task.wait.at > system.clock.now()) return undefined
      const policy = named.some(({ id }) => id === task.id) ? startInOwnSlot() : startAtOnce
      const start = await policy.start(system, task, missing)
      return start && 'at' in start && areUsable(granted, start.at) ? start : undefined
    },
  }
}

/** For each limit, the task's own usable slot, or the slot of another named task, which is then removed from `unspent`. */
async function grantedSlots(
  system: System,
  task: Task,
  unspent: Task[],
  rates: Rates,
): Promise<ReservedSlot[]> {
  const granted: ReservedSlot[] = []
  for (const limited of rates) {
    const slot =
      usableSlot(system, task, limited) ?? (await takeSlotOfAnother(system, task, unspent, limited))
    if (slot) granted.push({ limited, slot })
  }
  return granted
}

async function takeSlotOfAnother(
  system: System,
  task: Task,
  unspent: Task[],
  limited: NamedLimit<RateLimit>,
): Promise<Slot | undefined> {
  for (const other of unspent.filter(one => one.id !== task.id && usableSlot(system, one, limited))) {
    unspent.splice(unspent.indexOf(other), 1)
    if (await endWaitOf(system, other)) return usableSlot(system, other, limited)
  }
  return undefined
}

/** Ends the wait of the task that a slot was reserved for. Only one process succeeds, so the slot is used once. */
async function endWaitOf(system: System, task: Task): Promise<boolean> {
  const ended = endWait(task, system.clock.now())
  return ended.ok && (await applyChange(system, ended.change)).applied
}

/** A slot for each limit, by time: the task's own as long as it is usable, and a new one for each other limit. */
async function slotsFor(
  system: System,
  rates: Rates,
  own: ReservedSlot | undefined,
): Promise<ReservedSlot[]> {
  const isOwnUsable = own !== undefined && startingTime([own], system.clock.now()) !== undefined
  const slots: ReservedSlot[] = []
  for (const limited of rates) {
    const isCovered = isOwnUsable && isUnder(own.limited.name, own.slot, limited)
    const slot = isCovered ? own.slot : await reserveSlot(system, limited)
    slots.push({ limited, slot })
  }
  return slots.sort(byTime)
}

/** Waits until shortly before the last of the slots and grants the start. Undefined when a slot was missed. */
async function startIn(system: System, slots: readonly ReservedSlot[]): Promise<Start | undefined> {
  const { clock } = system
  const last = slots.at(-1)
  if (last) await sleepUntil(clock, last.slot.at - claimLeadMs(slots))
  const at = startingTime(slots, clock.now())
  if (at === undefined) {
    noteMissedSlot(system)
    return undefined
  }
  await oneAtATime(system, 'starts')
  return { at }
}

/**
 * How long before its slot a claim may be written. Under several limits this is 0: at the time of the last slot, it must
 * be known which of the other slots were missed, since those are reserved again.
 */
function claimLeadMs(limits: readonly unknown[]): number {
  return limits.length > 1 ? 0 : CLAIM_LEAD_MS
}

/** The earliest time at which a run with these slots may begin. Undefined when one of them has passed by then. */
function startingTime(slots: readonly ReservedSlot[], now: number): number | undefined {
  const at = Math.max(now, ...slots.map(({ slot }) => slot.at))
  return areUsable(slots, at) ? at : undefined
}

function areUsable(slots: readonly ReservedSlot[], now: number): boolean {
  return slots.every(({ limited, slot }) => isUsable(slot, limited.limit, now))
}

function byTime(a: ReservedSlot, b: ReservedSlot): number {
  return a.slot.at - b.slot.at
}

/** Records in the head that the task waits for the slot. The planner then dispatches it for that time. */
async function writeSlotToTask(system: System, task: Task, { limited, slot }: ReservedSlot): Promise<void> {
  await oneAtATime(system, 'waits')
  await transact(system, task, current =>
    current && isSamePiece(task, current)
      ? throttle(current, { ...slot, limit: limited.name }, system.clock.now())
      : { ok: false as const, reason: 'finished' as const },
  )
}

function usableSlot({ clock }: System, task: Task, limited: NamedLimit<RateLimit>): Slot | undefined {
  const own = ownSlot(task, [limited])?.slot
  return own && isUsable(own, limited.limit, clock.now()) ? own : undefined
}

/** The slot that the task waits for, if it was reserved under one of `rates` as they are now. It may have passed. */
function ownSlot({ wait }: Task, rates: Rates): ReservedSlot | undefined {
  if (wait?.kind !== 'slot') return undefined
  const limited = rates.find(one => isUnder(wait.limit, wait, one))
  return limited && { limited, slot: wait }
}

function isUnder(name: string, slot: Slot, limited: NamedLimit<RateLimit>): boolean {
  return name === limited.name && slot.rateText === rateText(limited.limit)
}
