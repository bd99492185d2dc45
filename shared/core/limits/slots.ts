import { WORKER_VISIBILITY_S } from '../bounds.ts'
import type { Slot } from '../task/task.ts'
import type { RateLimit } from '../types/task-type.ts'
import type { NamedLimit } from './limits.ts'

/**
 * The slots that a rate limit has granted: the starts of the last period, and those that claims will make within seconds. A limit of
 * 50 a second means that no span of one second contains more than 50 starts, wherever it begins. The log counts time in hundredths of
 * the limit's period. That keeps the log within two write units for every limit: 1.5 KB as JSON at 50 a second, 1.8 KB at 100,000.
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
  /** How many slots were granted since the log began. A slot that is granted instead of a missed one does not count. */
  readonly granted: number
  /**
   * The first part that may still be granted. An earlier part could be too near to a slot that the log no longer holds: processes
   * reserve some time ahead, and their clocks differ. @default any part
   */
  readonly from?: number
}

/** A slot log and its version, which grows with every write. Version 0 means that none is stored. */
export type StoredSlotLog = { readonly log: SlotLog | undefined; readonly version: number }

/** Parts of a period, by which the log counts time. */
const PARTS = 100
/** A start may come this many parts of the period after its slot. A later start reserves a new slot. */
const LATE_PARTS = 3
/**
 * Parts between two slots that must be a whole period apart. A slot lies anywhere in its part, and its start may be late by `LATE_PARTS`.
 */
const APART = PARTS + LATE_PARTS + 1

export function rateText({ limit, perMs }: RateLimit): string {
  return `${limit}/${perMs}`
}

/** A request for a slot. The slot may lie at most `waitMs` ahead, and not before `from`. */
export type SlotRequest = { readonly waitMs: number; readonly from?: number | undefined }

/** The slots that were reserved, in the order of their requests. */
type Reservation = {
  readonly log: SlotLog
  readonly slots: ReadonlyArray<Slot | undefined>
  /** When the next slot is free after these. */
  readonly notBefore: number
}

/**
 * Reserves a slot at `earliest` or later for each request that can be served. Each slot is as early as the limit allows. Requests that can
 * wait the shortest come first.
 */
export function reserveSlots(
  log: SlotLog | undefined,
  rate: RateLimit,
  earliest: number,
  requests: readonly SlotRequest[],
): Reservation {
  const parts = bindingParts(log, rate, earliest)
  const first = Math.max(partOf(earliest, rate), firstPart(log, rate))
  const slots: Array<Slot | undefined> = requests.map(() => undefined)
  const inOrder = requests.map((request, nth) => ({ ...request, nth })).sort((a, b) => a.waitMs - b.waitMs)
  for (const { nth, waitMs, from = earliest } of inOrder) {
    const part = nextPart(parts, rate, Math.max(first, partOf(from, rate)))
    const at = Math.max(from, earliest, startOf(part, rate))
    if (at > earliest + waitMs) continue
    insert(parts, part)
    slots[nth] = { at, rateText: rateText(rate) }
  }
  const count = slots.filter(Boolean).length
  const after = logOf(log, parts, rate, { now: earliest, granted: (log?.granted ?? 0) + count })
  return { log: after, slots, notBefore: nextSlot(after, rate, earliest) }
}

/** The log without slots that no start has used. The limit may grant as many others instead. */
export function withoutSlots(log: SlotLog, rate: RateLimit, slots: readonly Slot[], now: number): SlotLog {
  const given = slots.filter(slot => isUnder(log, rate) && slot.rateText === rateText(rate))
  const parts = bindingParts(log, rate, now)
  const before = parts.length
  for (const { at } of given) {
    const index = parts.indexOf(partOf(at, rate))
    if (index >= 0) parts.splice(index, 1)
  }
  return logOf(log, parts, rate, { now, granted: log.granted - (before - parts.length) })
}

/** Slots that lie ahead are all kept, since each may be given back. */
function logOf(
  before: SlotLog | undefined,
  parts: readonly number[],
  rate: RateLimit,
  { now, granted }: { readonly now: number; readonly granted: number },
): SlotLog {
  const present = partOf(now, rate)
  const binding = parts.filter(part => part + APART > present)
  const dropped = parts[parts.length - binding.length - 1]
  const from = Math.max(firstPart(before, rate), dropped === undefined ? 0 : dropped + APART)
  return {
    limit: rate.limit,
    perMs: rate.perMs,
    counts: countedByPart(binding),
    granted,
    ...(from > 0 && { from }),
  }
}

/** The first part that the log lets the limit grant; 0 when it says nothing. */
function firstPart(log: SlotLog | undefined, rate: RateLimit): number {
  if (log?.from === undefined) return 0
  return isUnder(log, rate) ? log.from : partOf(startOf(log.from, log), rate) + 1
}

/** The time of the next free slot; `now` when a start is possible at once. */
export function nextSlot(log: SlotLog | undefined, rate: RateLimit, now: number): number {
  const present = partOf(now, rate)
  const part = nextPart(bindingParts(log, rate, now), rate, Math.max(present, firstPart(log, rate)))
  return part === present ? now : startOf(part, rate)
}

/** How many more slots the limit can grant until a time, up to `most`. When the first of them is free, and when the one after them. */
export function freeSlots(
  log: SlotLog | undefined,
  rate: RateLimit,
  now: number,
  { until, most }: { readonly until: number; readonly most: number },
): { readonly count: number; readonly firstAt: number; readonly nextAt: number } {
  const parts = bindingParts(log, rate, now)
  const firstAt = nextSlot(log, rate, now)
  const first = Math.max(partOf(now, rate), firstPart(log, rate))
  for (let count = 0; ; count++) {
    const part = nextPart(parts, rate, first)
    if (count === most || startOf(part, rate) > until)
      return { count, firstAt, nextAt: Math.max(now, startOf(part, rate)) }
    insert(parts, part)
  }
}

/** Whether a start may use the slot now: the slot has begun and is not missed, and the limit has not changed. */
export function isUsable({ at, rateText: reservedUnder }: Slot, rate: RateLimit, now: number): boolean {
  const end = startOf(partOf(at, rate) + 1 + LATE_PARTS, rate)
  return reservedUnder === rateText(rate) && at <= now && now < end
}

/**
 * The first part, from `present` on, in which one more slot keeps the limit: with no `limit` other slots does it lie within less than
 * `APART` parts. A slot that was given back leaves a gap, which the next one fills.
 */
function nextPart(parts: readonly number[], { limit }: RateLimit, present: number): number {
  let part = present
  for (let nth = limit - 1; nth < parts.length; nth++) {
    const [first, last] = [parts[nth - limit + 1] ?? part, parts[nth] ?? part]
    if (Math.max(part, last) - Math.min(part, first) < APART) part = first + APART
  }
  return part
}

function insert(parts: number[], part: number): void {
  const index = parts.findLastIndex(one => one <= part) + 1
  parts.splice(index, 0, part)
}

/**
 * The part of each slot that binds later ones, in order. Under a changed limit only slots that have begun count: the reservations of
 * the former limit are void.
 */
function bindingParts(log: SlotLog | undefined, rate: RateLimit, now: number): number[] {
  if (!log) return []
  const parts = log.counts.flatMap(([part, count]) => Array<number>(count).fill(part))
  if (isUnder(log, rate)) return parts
  return parts
    .map(part => startOf(part, log))
    .filter(start => start <= now)
    .map(start => partOf(start, rate))
}

function isUnder(log: SlotLog, rate: RateLimit): boolean {
  return log.limit === rate.limit && log.perMs === rate.perMs
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

/**
 * When a claim starts under rate limits. These functions only decide, from slots and the present time. `runtime/limits/start.ts` reserves
 * the slots and waits.
 *
 * A start takes a slot under each rate limit that counts the task. A claim reserves only slots that it can wait for in place, and gives
 * back those that it does not use.
 */

/** A claim waits in place for a slot at most this far ahead. */
export const SLOT_WAIT_MS_MAX = 2_000
/** A standalone worker lets a task wait in place this long at most. The task's message is hidden from other workers for twice that time. */
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
