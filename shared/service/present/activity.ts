import type { ApiMinute, ApiTypeActivity, LimitUsage } from '../../api/diagnosis/load.ts'
import {
  ACTIVITY_KINDS,
  type ActivityCount,
  activityAddedUp,
  latenessAt,
} from '../../core/activity/activity.ts'
import type { TypeActivity } from '../../runtime/activity/activity.ts'
import type { TypeLimitUsage } from '../../runtime/limits/limit-usage.ts'
import { iso } from './iso.ts'

/** The activity of a type as the API shows it. */
export function presentActivity({ type, minutes }: TypeActivity): ApiTypeActivity {
  const [whole] = activityAddedUp(minutes.map(one => ({ ...one, minute: 0 })))
  return { type, minutes: minutes.map(presentMinute), ...presentLateness(whole?.lateness ?? {}) }
}

function presentMinute({ minute, counts, lateness }: ActivityCount): ApiMinute {
  const numbers = ACTIVITY_KINDS.map(kind => [kind, counts[kind] ?? 0])
  return { at: iso(minute), ...Object.fromEntries(numbers), ...presentLateness(lateness) }
}

function presentLateness(lateness: ActivityCount['lateness']): Pick<ApiMinute, 'lateness'> {
  const [p50Ms, p95Ms] = [latenessAt(lateness, 0.5), latenessAt(lateness, 0.95)]
  return p50Ms === undefined || p95Ms === undefined ? {} : { lateness: { p50Ms, p95Ms } }
}

/** The usage of a type's limits as the API shows it. */
export function presentLimitUsage(type: string, { rate, concurrency }: TypeLimitUsage): LimitUsage {
  return {
    type,
    ...(rate && { rate: presentRate(rate) }),
    ...(concurrency && { concurrency: presentConcurrency(concurrency) }),
  }
}

function presentRate({ nextSlotAt, ...limit }: NonNullable<TypeLimitUsage['rate']>) {
  return { ...limit, ...(nextSlotAt !== undefined && { nextSlotAt: iso(nextSlotAt) }) }
}

function presentConcurrency({ holders, ...limit }: NonNullable<TypeLimitUsage['concurrency']>) {
  const shown = holders?.map(({ taskId, since }) => ({ taskId, since: iso(since) }))
  return { ...limit, ...(shown && { holders: shown }) }
}
