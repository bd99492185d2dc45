import type { ConcurrencyLimit, TypeConfiguration } from '../types/task-type.ts'

/** Write units that one partition of a DynamoDB table serves in a second. Source: DynamoDB quotas. */
const PARTITION_UNITS_PER_SECOND = 1_000
const UNIT_BYTES = 1_024
/** Of the item that holds a limit's permits: what it has beside its holders, and what one holder takes with an id of some 33 characters. */
const PERMITS_ITEM_BYTES = 57
const HOLDER_BYTES = 62
/** A permit is recorded when a run starts, and given back when it ends. */
const WRITES_PER_RUN = 2
/** Below this, a limit slows down types that a default table would serve faster. */
const MANY_STARTS_PER_SECOND = 200

/** What one concurrency limit can do while all its permits are held. */
export type PermitCost = { readonly unitsPerRun: number; readonly startsPerSecond: number }

/**
 * All holders of a limit stand in one item, and each write costs the size of that item: the more runs a limit allows, the
 * fewer can start in a second. With `key`, each value has an item of its own.
 */
export function permitCost(max: number): PermitCost {
  const unitsPerWrite = Math.ceil((PERMITS_ITEM_BYTES + max * HOLDER_BYTES) / UNIT_BYTES)
  const unitsPerRun = WRITES_PER_RUN * unitsPerWrite
  return { unitsPerRun, startsPerSecond: Math.floor(PARTITION_UNITS_PER_SECOND / unitsPerRun) }
}

/** What a caller should know before a type with this configuration is used at scale; empty for most types. */
export function scaleWarnings({ limits }: Pick<TypeConfiguration, 'limits'>): string[] {
  return limits?.concurrency ? concurrencyWarnings(limits.concurrency) : []
}

function concurrencyWarnings({ max, key }: ConcurrencyLimit): string[] {
  const { unitsPerRun, startsPerSecond } = permitCost(max)
  if (startsPerSecond >= MANY_STARTS_PER_SECOND) return []
  const each = key === undefined ? '' : ` for each value of ${key}`
  return [
    `limits.concurrency.max ${max} costs ${unitsPerRun} write units a run and allows at most ${startsPerSecond} starts per second${each}; see docs/scale.md`,
  ]
}
