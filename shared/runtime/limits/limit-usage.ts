import { type Holder, shardsOf } from '../../core/limits/held-permits.ts'
import { concurrencyLimitName, fieldValue, limitName } from '../../core/limits/limits.ts'
import { nextSlot } from '../../core/limits/slots.ts'
import type { ConcurrencyLimit, RateLimit, TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'

const HOLDERS_SHOWN_MAX = 100

/** How much of a type's limits is used. Times in ms. The usage is left out while the key has no value. */
export type TypeLimitUsage = {
  readonly rate?: RateLimit & { readonly value?: string; readonly nextSlotAt?: number }
  readonly concurrency?: ConcurrencyLimit & {
    readonly value?: string
    readonly held?: number
    /** Longest first. */
    readonly holders?: readonly Holder[]
  }
}

/** The value of each limit's key whose usage is read. The keys of the two limits may be different fields. */
type KeyValues = { readonly rate?: string | undefined; readonly concurrency?: string | undefined }

type Read = Pick<System, 'limits' | 'clock'>

/**
 * Reads how much of a type's limits is used: one read unit for each 4 KB of slots, and one for each shard of permits. A limit with a
 * key is read for one value of the key; nothing lists the values.
 */
export async function readLimitUsage(
  system: Read,
  { type, configuration: { limits = {} } }: TaskType,
  values: KeyValues,
): Promise<TypeLimitUsage> {
  const { rate, concurrency } = limits
  const [rateUsage, concurrencyUsage] = await Promise.all([
    rate && usageOfRate(system, type, rate, values.rate),
    concurrency && usageOfConcurrency(system, type, concurrency, values.concurrency),
  ])
  return {
    ...(rateUsage && { rate: rateUsage }),
    ...(concurrencyUsage && { concurrency: concurrencyUsage }),
  }
}

async function usageOfRate(
  { limits, clock }: Read,
  type: string,
  rate: RateLimit,
  value: string | undefined,
) {
  const { key } = rate
  if (key !== undefined && value === undefined) return rate
  const { log } = await limits.slots(limitName(type, key === undefined ? undefined : nameOf(value)))
  return { ...rate, ...shownValue(key, value), nextSlotAt: nextSlot(log, rate, clock.now()) }
}

async function usageOfConcurrency(
  { limits }: Read,
  type: string,
  concurrency: ConcurrencyLimit,
  value: string | undefined,
) {
  const { key } = concurrency
  if (key !== undefined && value === undefined) return concurrency
  const { holders } = await limits.permits(
    concurrencyLimitName(type, key, nameOf(value)),
    shardsOf(concurrency.max),
  )
  const longest = [...holders].sort((a, b) => a.since - b.since).slice(0, HOLDERS_SHOWN_MAX)
  return {
    ...concurrency,
    ...shownValue(key, value),
    held: holders.length,
    holders: longest,
  }
}

/** Names of limits hold long values in a shorter form. */
function nameOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : fieldValue({ value }, 'value')
}

function shownValue(key: string | undefined, value: string | undefined) {
  return key === undefined || value === undefined ? {} : { value }
}
