import type { Slot } from '../task/wait.ts'
import type { RateLimit } from '../types/task-type.ts'

/**
 * The slots that a rate limit has granted: the starts that have passed, and the reserved ones. A limit of 50 a second means that no
 * span of one second contains more than 50 starts, wherever it begins. The log counts time in hundredths of the limit's period.
 * That keeps the log within two write units for every limit: 1.5 KB as JSON at 50 a second, 1.8 KB at 100,000.
 */
export type SlotLog = {
  /** The limit under which these slots were granted. */
  readonly limit: number
  readonly perMs: number
  /**
   * How many slots lie in each part of the period. Parts are numbered from the epoch on, in ascending order. The log keeps only
   * slots that still bind later ones: the time of a later slot may depend on them.
   */
  readonly counts: ReadonlyArray<readonly [part: number, count: number]>
  /**
   * How many slots are booked beyond those in `counts`. While the next free slot lies some time ahead, the time of each further
   * slot follows from the slot that is `limit` positions before it. Many processes that reserve at one moment then only add to this
   * number.
   */
  readonly bookedAhead: number
}

/** A slot log and its version, which grows with every write of `counts`. Version 0 means that none is stored. */
export type StoredSlotLog = { readonly log: SlotLog | undefined; readonly version: number }

/** Parts of a period, by which the log counts time. */
const PARTS = 100
/** A start may come this many parts of the period after its slot. A later start reserves a new slot. */
const LATE_PARTS = 3
/**
 * Parts between two slots that must be a whole period apart. A slot lies anywhere in its part, and its start may be late by
 * `LATE_PARTS`.
 */
const APART = PARTS + LATE_PARTS + 1

export function rateText({ limit, perMs }: RateLimit): string {
  return `${limit}/${perMs}`
}

/** How many callers ask for a slot: those that take a free slot only, and those that accept any time. */
export type SlotsAsked = { readonly onlyFree: number; readonly anyTime: number }

/**
 * What a process does to reserve slots that start at `earliest` or later.
 *
 * - `none-free`   it writes nothing: all callers want a free slot, and none is free before `notBefore`
 * - `book-ahead`  it adds the callers that accept any time to `bookedAhead`
 * - `write-log`   it replaces the log. `notBefore` is set when some callers got no free slot
 */
export type ReservationDecision =
  | { readonly kind: 'none-free'; readonly notBefore: number }
  | { readonly kind: 'book-ahead'; readonly log: SlotLog }
  | {
      readonly kind: 'write-log'
      readonly log: SlotLog
      readonly free: readonly Slot[]
      readonly anyTime: readonly Slot[]
      readonly notBefore: number | undefined
    }

/** Decides how slots are reserved for callers that ask together. Callers that take only a free slot come first. */
export function decideReservation(
  log: SlotLog | undefined,
  rate: RateLimit,
  earliest: number,
  asked: SlotsAsked,
): ReservationDecision {
  if (isBookedAhead(log, rate, earliest)) {
    if (asked.anyTime > 0) return { kind: 'book-ahead', log }
    return { kind: 'none-free', notBefore: nextSlot(log, rate, earliest) }
  }
  const free = reserveSlots(log, rate, earliest, { count: asked.onlyFree, onlyNow: true })
  const { log: after, slots: anyTime } = reserveSlots(free.log, rate, earliest, { count: asked.anyTime })
  const notBefore = free.slots.length < asked.onlyFree ? nextSlot(after, rate, earliest) : undefined
  if (notBefore !== undefined && free.slots.length + anyTime.length === 0) {
    return { kind: 'none-free', notBefore }
  }
  return { kind: 'write-log', log: after, free: free.slots, anyTime, notBefore }
}

/**
 * Reserves `count` slots. Each slot is as early as the limit allows, but never before a slot that was reserved earlier. So only the
 * last `limit` slots decide when the next slot is. With `onlyNow`, it reserves only as many of them as can start at once.
 */
export function reserveSlots(
  log: SlotLog | undefined,
  rate: RateLimit,
  now: number,
  { count, onlyNow = false }: { readonly count: number; readonly onlyNow?: boolean },
): { readonly log: SlotLog; readonly slots: readonly Slot[] } {
  const present = partOf(now, rate)
  const parts = bindingParts(log, rate, now)
  const slots: Slot[] = []
  for (let nth = 0; nth < count; nth++) {
    const part = nextPart(parts, rate, present)
    if (onlyNow && part > present) break
    parts.push(part)
    slots.push(slotIn(part, rate, now))
  }
  // Slots that have begun are all kept, since they still bind after a change of the limit. Of the later slots, the last `limit` are
  // enough.
  const binding = parts.filter(
    (part, nth) => part + APART > present && (part <= present || nth >= parts.length - rate.limit),
  )
  return {
    log: { limit: rate.limit, perMs: rate.perMs, counts: countedByPart(binding), bookedAhead: 0 },
    slots,
  }
}

function slotIn(part: number, rate: RateLimit, now: number): Slot {
  return { at: Math.max(now, startOf(part, rate)), rateText: rateText(rate) }
}

/** Whether the next free slot lies some time ahead, so that a reservation only adds to `bookedAhead`. */
export function isBookedAhead(log: SlotLog | undefined, rate: RateLimit, now: number): log is SlotLog {
  if (!log || !isUnder(log, rate)) return false
  const next = partAfter(partsIn(log), rate, log.bookedAhead)
  return next !== undefined && next > partOf(now, rate) + 1
}

/** The slots booked ahead, from number `from` on. Undefined stands for a slot that would have passed before `now`. */
export function bookedSlots(
  log: SlotLog,
  rate: RateLimit,
  now: number,
  { from, count }: { readonly from: number; readonly count: number },
): Array<Slot | undefined> {
  const parts = partsIn(log)
  return Array.from({ length: count }, (_, nth) => {
    const part = partAfter(parts, rate, from + nth)
    return part === undefined || part < partOf(now, rate) ? undefined : slotIn(part, rate, now)
  })
}

/** The part of the booked slot with number `nth`, counted from 0 after the slots in the log. Undefined when the log holds too few. */
function partAfter(parts: readonly number[], { limit }: RateLimit, nth: number): number | undefined {
  const before = parts[parts.length - limit + (nth % limit)]
  return before === undefined ? undefined : before + (Math.floor(nth / limit) + 1) * APART
}

/** The time of the next free slot; `now` when a start is possible at once. */
export function nextSlot(log: SlotLog | undefined, rate: RateLimit, now: number): number {
  const present = partOf(now, rate)
  const part = nextPart(bindingParts(log, rate, now), rate, present)
  return part === present ? now : startOf(part, rate)
}

/** Whether a start may use the slot now: the slot has begun and is not missed, and the limit has not changed. */
export function isUsable({ at, rateText: reservedUnder }: Slot, rate: RateLimit, now: number): boolean {
  const end = startOf(partOf(at, rate) + 1 + LATE_PARTS, rate)
  return reservedUnder === rateText(rate) && at <= now && now < end
}

function nextPart(parts: readonly number[], { limit }: RateLimit, present: number): number {
  const last = parts.at(-1) ?? present
  const binding = parts.length >= limit ? (parts[parts.length - limit] ?? present) + APART : present
  return Math.max(present, last, binding)
}

/**
 * The part of each slot that binds later ones, in order. Under a changed limit only slots that have begun count: the reservations of
 * the former limit are void.
 */
function bindingParts(log: SlotLog | undefined, rate: RateLimit, now: number): number[] {
  if (!log) return []
  const parts = withBookedAhead(log, partOf(now, log))
  if (isUnder(log, rate)) return parts
  return parts
    .map(part => startOf(part, log))
    .filter(start => start <= now)
    .map(start => partOf(start, rate))
}

/**
 * The parts of the slots in the log, and of the booked slots that still bind later ones: the last `limit` booked slots, and the
 * booked slots that began within the last period. Booked slots that follow the same slot of the log lie a period apart, so at most
 * one of them began within the last period.
 */
function withBookedAhead(log: SlotLog, present: number): number[] {
  const parts = partsIn(log)
  const { limit, bookedAhead } = log
  if (bookedAhead === 0) return parts
  const last = Array.from({ length: Math.min(bookedAhead, limit) }, (_, nth) => bookedAhead - 1 - nth)
  const latestBegun = parts.slice(-limit).map((part, nth) => {
    const periods = Math.floor((present - part) / APART) - 1
    return periods * limit + nth
  })
  const begun = latestBegun.filter(nth => nth >= 0 && nth < bookedAhead)
  const ascending = [...new Set([...last, ...begun])].sort((a, b) => a - b)
  return [...parts, ...ascending.map(nth => partAfter(parts, log, nth) ?? present)]
}

function isUnder(log: SlotLog, rate: RateLimit): boolean {
  return log.limit === rate.limit && log.perMs === rate.perMs
}

/** The part of each slot in the log, one entry per slot. */
function partsIn({ counts }: SlotLog): number[] {
  return counts.flatMap(([part, count]) => Array<number>(count).fill(part))
}

function countedByPart(parts: readonly number[]): Array<readonly [number, number]> {
  const counts = new Map<number, number>()
  for (const part of parts) counts.set(part, (counts.get(part) ?? 0) + 1)
  return [...counts]
}

type Period = Pick<RateLimit, 'perMs'>

function partOf(time: number, { perMs }: Period): number {
  return Math.floor((time * PARTS) / perMs)
}

function startOf(part: number, { perMs }: Period): number {
  return Math.ceil((part * perMs) / PARTS)
}
