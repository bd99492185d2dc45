import type { ConcurrencyLimit, TypeConfiguration } from '../types/task-type.ts'

/** Write units that one partition of a DynamoDB table serves in a second. Source: DynamoDB quotas. */
const PARTITION_UNITS_PER_SECOND = 1_000
const UNIT_BYTES = 1_024
/** Bytes of the item that holds a limit's permits, without its holders. */
const PERMITS_ITEM_BYTES = 57
/** Bytes that one holder takes in that item, with a task id of some 33 characters. */
const HOLDER_BYTES = 62
/** A permit is recorded when a run starts, and given back when the run ends. */
const WRITES_PER_RUN = 2
/** A limit that allows fewer starts a second gets a warning. */
const MANY_STARTS_PER_SECOND = 200

/** What each run costs, and how many can start in a second, under one concurrency limit whose permits are all held. */
export type PermitCost = { readonly unitsPerRun: number; readonly startsPerSecond: number }

/**
 * The cost of a limit for `max` runs. All holders of a limit are one item, and each write costs the size of that item. So the more
 * runs a limit allows, the fewer can start in a second. With `key`, each value has an item of its own.
 */
export function permitCost(max: number): PermitCost {
  const unitsPerWrite = Math.ceil((PERMITS_ITEM_BYTES + max * HOLDER_BYTES) / UNIT_BYTES)
  const unitsPerRun = WRITES_PER_RUN * unitsPerWrite
  return { unitsPerRun, startsPerSecond: Math.floor(PARTITION_UNITS_PER_SECOND / unitsPerRun) }
}

/** Warnings for the caller that configures a type and wants to use it at scale. Most types have none. */
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
