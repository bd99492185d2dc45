import type { ApiFailureGroup, ApiMinute, ApiTypeActivity } from '../../shared/api/diagnosis/statistics.ts'

const SUMMED = ['published', 'started', 'succeeded', 'failed', 'cancelled'] as const

/** The activity of each minute of a span, also of minutes without any, so that charts have a slot for each. */
export type Slot = Readonly<Record<(typeof SUMMED)[number], number>> & {
  readonly at: number
  /** The lateness that 95 % of the started runs did not exceed. */
  readonly lateMs: number | undefined
}

export const MINUTE_MS = 60_000
const NOTHING = { published: 0, started: 0, succeeded: 0, failed: 0, cancelled: 0, lateMs: undefined }

/** The slots from the minute `from` to the minute of `to`, with the activity of all these types added up. */
export function slotsOf(types: readonly ApiTypeActivity[], from: string, to: string): Slot[] {
  const slots = new Map<number, Slot>()
  for (let at = Date.parse(from); at <= Date.parse(to); at += MINUTE_MS) slots.set(at, { at, ...NOTHING })
  for (const { minutes } of types) {
    for (const minute of minutes) {
      const slot = slots.get(Date.parse(minute.at))
      if (slot) slots.set(slot.at, withMinute(slot, minute))
    }
  }
  return [...slots.values()]
}

function withMinute(slot: Slot, { lateness, ...minute }: ApiMinute): Slot {
  const late = Math.max(slot.lateMs ?? -1, lateness?.p95Ms ?? -1)
  const sums = SUMMED.map(name => [name, slot[name] + minute[name]])
  return { ...slot, ...Object.fromEntries(sums), lateMs: late < 0 ? undefined : late }
}

const RATE_MINUTES = 5

/** How many a minute, over the last five whole minutes. The present minute has not ended, and would show too few. */
export function perMinute(slots: readonly Slot[], kind: 'succeeded' | 'failed' | 'published'): number {
  const recent = slots.slice(-RATE_MINUTES - 1, -1)
  if (recent.length === 0) return 0
  return recent.reduce((sum, slot) => sum + slot[kind], 0) / recent.length
}

/**
 * How many tasks were open at the end of each minute. It follows backwards from how many are open now: a task that was published since
 * was not open before, and one that has ended since was. Removed tasks are not known, so a number never falls below zero.
 */
export function openAfter(slots: readonly Slot[], openNow: number): number[] {
  let open = openNow
  const backwards = slots.toReversed().map(({ published, succeeded, failed, cancelled }) => {
    const atEnd = Math.max(0, open)
    open += succeeded + failed + cancelled - published
    return atEnd
  })
  return backwards.toReversed()
}

export const HOUR_MS = 3_600_000

/**
 * How often a group failed in the last hour, and in each hour before on average. Failures are counted by the hours of the clock: of the
 * hour before the present one, the part counts that the last hour has of it.
 */
export function ratesOf({ count, firstAt, hours }: ApiFailureGroup, now: number) {
  if (Date.parse(firstAt) >= now - HOUR_MS) return { lastHour: count, anHourBefore: 0 }
  const present = now - (now % HOUR_MS)
  const inHour = (at: number) => hours.find(hour => Date.parse(hour.at) === at)?.count ?? 0
  const lastHour = inHour(present) + inHour(present - HOUR_MS) * (1 - (now - present) / HOUR_MS)
  const hoursBefore = Math.max(1, (now - HOUR_MS - Date.parse(firstAt)) / HOUR_MS)
  return { lastHour, anHourBefore: Math.max(0, count - lastHour) / hoursBefore }
}
