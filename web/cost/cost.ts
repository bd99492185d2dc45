import type { Cost } from '../api/cost-answers.ts'
import type { Slot } from '../charts/series.ts'

/**
 * What the metered usage says about a type and about the system. Only the local system meters. What a type costs is what was charged to
 * its tasks and to itself; the rest is the system's own.
 */

export type Rates = {
  /** Of a million tasks like those that ended in the metered part of the last hour. Undefined when none has ended. */
  readonly perMillion: number | undefined
  /** Of a day at the pace of that part. */
  readonly perDay: number
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** A pace that was measured over less says little about a day. */
const SPAN_MS_MIN = 60_000

/** The rates of one type. `slots` are its activity of the last hour. Undefined while nothing was charged to it. */
export function ratesOfType(
  cost: Cost,
  type: string,
  slots: readonly Slot[],
  now = Date.now(),
): Rates | undefined {
  const charged = cost.types.find(one => one.type === type)
  return charged && ratesOf(charged.lastHourUsd, slots, meteredMs(cost, now))
}

/** The rates of the whole system, with what is its own. `slots` are the activity of all types. */
export function ratesOfAll(cost: Cost, slots: readonly Slot[], now = Date.now()): Rates {
  return ratesOf(spent(cost), slots, meteredMs(cost, now))
}

/** What was spent in the last hour and charged to none of these types, in USD. */
export function ownUsd(cost: Cost, types: readonly string[]): number {
  const charged = cost.types.filter(({ type }) => types.includes(type))
  return Math.max(0, spent(cost) - charged.reduce((sum, { lastHourUsd }) => sum + lastHourUsd, 0))
}

/** Whether the metered time is shorter than the last hour, because the system is young. */
export function isYoung(cost: Cost, now = Date.now()): boolean {
  return meteredMs(cost, now) < HOUR_MS
}

function ratesOf(usd: number, slots: readonly Slot[], spanMs: number): Rates {
  const ended = slots.reduce((sum, slot) => sum + slot.succeeded + slot.failed + slot.cancelled, 0)
  return { perMillion: ended === 0 ? undefined : (usd / ended) * 1e6, perDay: (usd / spanMs) * DAY_MS }
}

/** How much of the last hour is metered. */
function meteredMs({ minutes }: Cost, now: number): number {
  const first = Date.parse(minutes[0]?.at ?? '')
  return Math.max(SPAN_MS_MIN, now - first || SPAN_MS_MIN)
}

function spent({ minutes }: Cost): number {
  return minutes.reduce((sum, { usd }) => sum + usd, 0)
}
