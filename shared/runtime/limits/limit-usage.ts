import type { Holder } from '../../core/limits/held-permits.ts'
import { concurrencyLimitName, fieldValue, limitName } from '../../core/limits/limits.ts'
import { nextSlot } from '../../core/limits/slots.ts'
import type { ConcurrencyLimit, RateLimit, TaskType } from '../../core/types/task-type.ts'
import type { System } from '../kernel/system.ts'

const HOLDERS_SHOWN_MAX = 100

/** How much of a type's limits is used. Times in ms. The usage is left out while the key has no value. */
export type TypeLimitUsage = {
  readonly rate?: RateLimit & { readonly nextSlotAt?: number }
  readonly concurrency?: ConcurrencyLimit & {
    readonly held?: number
    /** Longest first. */
    readonly holders?: readonly Holder[]
  }
}

type Read = Pick<System, 'limits' | 'clock'>

/**
 * Reads how much of a type's limits is used: one read unit for each limit, and one more for each 4 KB of permits or slots. A limit with
 * a key is read for one value of the key; nothing lists the values.
 */
export async function readLimitUsage(
  system: Read,
  { type, configuration: { limits = {} } }: TaskType,
  value: string | undefined,
): Promise<TypeLimitUsage> {
  const { rate, concurrency } = limits
  // Names of limits hold long values in a shorter form.
  const shortened = value === undefined ? undefined : fieldValue({ value }, 'value')
  const [rateUsage, concurrencyUsage] = await Promise.all([
    rate && usageOfRate(system, type, rate, shortened),
    concurrency && usageOfConcurrency(system, type, concurrency, shortened),
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
  const { log } = await limits.slots(limitName(type, key === undefined ? undefined : value))
  return { ...rate, nextSlotAt: nextSlot(log, rate, clock.now()) }
}

async function usageOfConcurrency(
  { limits }: Read,
  type: string,
  concurrency: ConcurrencyLimit,
  value: string | undefined,
) {
  const { key } = concurrency
  if (key !== undefined && value === undefined) return concurrency
  const { holders } = await limits.permits(concurrencyLimitName(type, key, value))
  const longest = [...holders].sort((a, b) => a.since - b.since).slice(0, HOLDERS_SHOWN_MAX)
  return {
    ...concurrency,
    held: holders.length,
    holders: longest,
  }
}
