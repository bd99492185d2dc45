import type { Slot } from '../task/wait.ts'
import type { RateLimit } from '../types/task-type.ts'

/**
 * The starts that a rate limit has granted, past and reserved ones. A limit of 50 a second means that no span of one
 * second sees more than 50 starts, wherever it begins. Time is counted in hundredths of the limit's period, which keeps
 * the log within two write units whatever the limit is: 1.5 KB as JSON at 50 a second, 1.8 KB at 100,000.
 */
export type SlotLog = {
  /** The limit under which these starts were granted. */
  readonly limit: number
  readonly perMs: number
  /** Which hundredth since the epoch, and how many starts in it; ascending. Only those that still bind others. */
  readonly slots: ReadonlyArray<readonly [part: number, count: number]>
  /**
   * How many more are reserved after these. While all are spoken for, each follows from the one that is `limit` before it,
   * so that many who reserve at once need only count.
   */
  readonly bookedAhead: number
}

/** A log of starts and its version, which grows with every write; 0: none is stored. */
export type StoredSlots = { readonly log: SlotLog | undefined; readonly version: number }

const PARTS = 100
/** A start may come so much later than its turn, in parts of the period. A start later than that reserves anew. */
const LATE_PARTS = 3
/** A turn is somewhere in its part, and may be late: so far apart are two starts that must be a whole period apart. */
const APART = PARTS + LATE_PARTS + 1

export function rateText({ limit, perMs }: RateLimit): string {
  return `${limit}/${perMs}`
}

/**
 * Reserves `count` starts, each as early as the limit allows and none before an earlier one, which takes no more than the
 * last `limit` starts to know. `onlyNow`: as many of them as can begin at once.
 */
export function reserveSlots(
  log: SlotLog | undefined,
  rate: RateLimit,
  now: number,
  { count, onlyNow = false }: { readonly count: number; readonly onlyNow?: boolean },
): { readonly log: SlotLog; readonly slots: readonly Slot[] } {
  const present = partOf(now, rate)
  const starts = bindingSlots(log, rate, now)
  const turns: Slot[] = []
  for (let nth = 0; nth < count; nth++) {
    const part = nextPart(starts, rate, present)
    if (onlyNow && part > present) break
    starts.push(part)
    turns.push(slotIn(part, rate, now))
  }
  // What has begun binds under another limit, too; of what is reserved the last ones are enough.
  const binding = starts.filter(
    (part, nth) => part + APART > present && (part <= present || nth >= starts.length - rate.limit),
  )
  return {
    log: { limit: rate.limit, perMs: rate.perMs, slots: counted(binding), bookedAhead: 0 },
    slots: turns,
  }
}

function slotIn(part: number, rate: RateLimit, now: number): Slot {
  return { at: Math.max(now, startOf(part, rate)), rateText: rateText(rate) }
}

/** Whether starts are so much in demand that a reservation is only counted: the next one is some time ahead. */
export function isBookedAhead(log: SlotLog | undefined, rate: RateLimit, now: number): log is SlotLog {
  if (!log || !isUnder(log, rate)) return false
  const next = partAfter(singles(log), rate, log.bookedAhead)
  return next !== undefined && next > partOf(now, rate) + 1
}

/** The starts that were counted from number `from` on; undefined where one would have had to begin before now. */
export function bookedSlots(
  log: SlotLog,
  rate: RateLimit,
  now: number,
  { from, count }: { readonly from: number; readonly count: number },
): Array<Slot | undefined> {
  const parts = singles(log)
  return Array.from({ length: count }, (_, nth) => {
    const part = partAfter(parts, rate, from + nth)
    return part === undefined || part < partOf(now, rate) ? undefined : slotIn(part, rate, now)
  })
}

/** Of start number `nth` after those in the log. */
function partAfter(starts: readonly number[], { limit }: RateLimit, nth: number): number | undefined {
  const before = starts[starts.length - limit + (nth % limit)]
  return before === undefined ? undefined : before + (Math.floor(nth / limit) + 1) * APART
}

/** When the next start could be; `now` when it can be at once. */
export function nextSlot(log: SlotLog | undefined, rate: RateLimit, now: number): number {
  const present = partOf(now, rate)
  const part = nextPart(bindingSlots(log, rate, now), rate, present)
  return part === present ? now : startOf(part, rate)
}

/** Whether a turn may be used now: its time has come, has not passed, and the limit is still the same. */
export function isUsable({ at, rateText: terms }: Slot, rate: RateLimit, now: number): boolean {
  const end = startOf(partOf(at, rate) + 1 + LATE_PARTS, rate)
  return terms === rateText(rate) && at <= now && now < end
}

function nextPart(starts: readonly number[], { limit }: RateLimit, present: number): number {
  const last = starts.at(-1) ?? present
  const binding = starts.length >= limit ? (starts[starts.length - limit] ?? present) + APART : present
  return Math.max(present, last, binding)
}

/**
 * One entry for each start that binds others, in order. Of another limit those count that have begun: its reservations are
 * void.
 */
function bindingSlots(log: SlotLog | undefined, rate: RateLimit, now: number): number[] {
  if (!log) return []
  const parts = withMore(log, partOf(now, log))
  if (isUnder(log, rate)) return parts
  return parts
    .map(part => startOf(part, log))
    .filter(start => start <= now)
    .map(start => partOf(start, rate))
}

/**
 * The starts of the log with those of the counted ones that still matter: what has begun within the last period, which is
 * one for each of the last `limit` in the log, and the last ones.
 */
function withMore(log: SlotLog, now: number): number[] {
  const parts = singles(log)
  if (log.bookedAhead === 0) return parts
  const last = Array.from(
    { length: Math.min(log.bookedAhead, log.limit) },
    (_, nth) => log.bookedAhead - 1 - nth,
  )
  const present = parts.slice(-log.limit).map((start, nth) => {
    const periods = Math.floor((now - start) / APART) - 1
    return periods * log.limit + nth
  })
  const begun = present.filter(nth => nth >= 0 && nth < log.bookedAhead)
  const ascending = [...new Set([...last, ...begun])].sort((a, b) => a - b)
  return [...parts, ...ascending.map(nth => partAfter(parts, log, nth) ?? now)]
}

function isUnder(log: SlotLog, rate: RateLimit): boolean {
  return log.limit === rate.limit && log.perMs === rate.perMs
}

function singles({ slots: starts }: SlotLog): number[] {
  return starts.flatMap(([part, count]) => Array<number>(count).fill(part))
}

function counted(parts: readonly number[]): Array<readonly [number, number]> {
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
