import { fieldValue, type Holder, limitName, shardsOf } from '../../core/limits/limits.ts'
import { nextSlot } from '../../core/limits/slots.ts'
import type { LimitReason } from '../../core/status.ts'
import type { Task } from '../../core/task/task.ts'
import type { ConcurrencyLimit, RateLimit, TaskType } from '../../core/types/task-type.ts'
import { createTimedCache, type System } from '../kernel/system.ts'
import { limitRulesOf } from './line.ts'

const HOLDERS_SHOWN_MAX = 100
/** The shards that are read at a time beyond those of a limit. */
const SHARDS_BEYOND = 4

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
 * Reads how much of a type's limits is used: one read unit for each 4 KB of slots, one for each shard of permits, and four more. A limit with a
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
  const { log } = await limits.slots(limitName(type, key, nameOf(value)))
  return { ...rate, ...shownValue(key, value), nextSlotAt: nextSlot(log, rate, clock.now()) }
}

async function usageOfConcurrency(
  system: Read,
  type: string,
  concurrency: ConcurrencyLimit,
  value: string | undefined,
) {
  const { key } = concurrency
  if (key !== undefined && value === undefined) return concurrency
  const holders = await allHolders(system, limitName(type, key, nameOf(value)), concurrency.max)
  const longest = [...holders].sort((a, b) => a.since - b.since).slice(0, HOLDERS_SHOWN_MAX)
  return {
    ...concurrency,
    ...shownValue(key, value),
    held: holders.length,
    holders: longest,
  }
}

/** All holders. After `max` was lowered, older runs still hold permits in shards beyond those of `max`: there are none after an empty row. */
async function allHolders({ limits }: Read, name: string, max: number): Promise<readonly Holder[]> {
  const own = shardsOf(max)
  const { holders } = await limits.permits(name, own)
  const all = [...holders]
  for (let from = own.length; ; from += SHARDS_BEYOND) {
    const beyond = Array.from({ length: SHARDS_BEYOND }, (_, nth) => from + nth)
    const { holders: older } = await limits.permits(name, beyond)
    if (older.length === 0) return all
    all.push(...older)
  }
}

/** Names of limits hold long values in a shorter form. */
function nameOf(value: string | undefined): string | undefined {
  return value === undefined ? undefined : fieldValue({ value }, 'value')
}

function shownValue(key: string | undefined, value: string | undefined) {
  return key === undefined || value === undefined ? {} : { value }
}

/** The limit that holds a task back now: the reason, the name, and for a rate limit the time of its next free slot. */
export type HoldingLimit = { readonly reason: LimitReason; readonly limit: string; readonly until?: number }

const LIFETIME_MS = 1_000

/**
 * Returns a function that names a limit that allows no start of a task now, if there is one. It caches what it reads for one second, for
 * callers that ask once per task.
 */
export function cachedLimitReader(system: System): (task: Task) => Promise<HoldingLimit | undefined> {
  const slots = createTimedCache<Awaited<ReturnType<System['limits']['slots']>>>(LIFETIME_MS)
  const permits = createTimedCache<number>(LIFETIME_MS)
  const { clock, limits } = system
  return async task => {
    const { rates, concurrencies } = await limitRulesOf(system, task)
    for (const { name, limit } of concurrencies) {
      const read = async () => (await limits.permits(name, shardsOf(limit.max))).holders.length
      const { value: held } = await permits.get(clock, name, read)
      if (held >= limit.max) return { reason: 'concurrency-limit', limit: name }
    }
    const now = clock.now()
    for (const { name, limit } of rates) {
      const until = nextSlot((await slots.get(clock, name, () => limits.slots(name))).value.log, limit, now)
      if (until > now) return { reason: 'rate-limit', limit: name, until }
    }
    return undefined
  }
}
