import type { TaskType } from '../../core/types/task-type.ts'
import { createTimedCache, type Known, onceEach, processMemory, type System } from '../kernel/system.ts'

/** Each process remembers a type for this long. So a change of its configuration, and a pause, reach every claim within this time. */
export const TYPE_CACHE_MS = 1_000

/**
 * A pause is acknowledged this long after it was written. A claim has read the type within `TYPE_CACHE_MS`, and
 * reads it again when its run has not begun within `CLAIM_MS_MAX` (see `limits/line.ts`) after that.
 */
export const PAUSE_ACK_MS = 1_500

/** One cache for all claims of this process through the same store. */
const cacheOf = processMemory(() => createTimedCache<TaskType | undefined>(TYPE_CACHE_MS))

/** Reads task types through a cache of one second, for callers that read a type once per task. */
export function cachedTypeReader(system: Pick<System, 'types' | 'clock'>): TypeReader {
  return async type => (await cachedType(system, type)).value
}

/** The type as it was within the last second. */
export function cachedType(
  { types, clock }: Pick<System, 'types' | 'clock'>,
  type: string,
): Promise<Known<TaskType | undefined>> {
  return cacheOf(types).get(clock, type, () => types.get(type))
}

/** Drops the type from the cache, so that the next read is fresh. */
export function forgetType({ types }: Pick<System, 'types'>, type: string): void {
  cacheOf(types).forget(type)
}

/** Reads a type, cached or not. */
export type TypeReader = (type: string) => Promise<TaskType | undefined>

/** Creates a reader for one batch: each type is read once, however many requests name it. */
export function batchTypeReader(system: Pick<System, 'types' | 'clock'>): TypeReader {
  return onceEach(type => {
    forgetType(system, type)
    return cachedTypeReader(system)(type)
  })
}
