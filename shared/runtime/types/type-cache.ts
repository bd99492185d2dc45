import type { TaskType } from '../../core/types/task-type.ts'
import type { TypeStore } from '../../ports/stores.ts'
import type { System } from '../kernel/system.ts'
import { createTimedCache, type Known, type TimedCache } from '../kernel/timed-cache.ts'

/** A change of a type's configuration, and a pause, reach every process that claims within this time. */
export const TYPE_CACHE_MS = 1_000

/**
 * A pause is acknowledged so long after it was written. A claim has read the type within `TYPE_LIFETIME_MS`, and asks again
 * when the run has not begun by `MAX_CLAIM_MS` (see `limits/limits.ts`) after that.
 */
export const PAUSE_ACK_MS = 1_500

/** One memory for all claims of this process through the same store. */
const memories = new WeakMap<TypeStore, TimedCache<TaskType | undefined>>()

function memoryOf(types: TypeStore): TimedCache<TaskType | undefined> {
  const memory = memories.get(types) ?? createTimedCache<TaskType | undefined>(TYPE_CACHE_MS)
  memories.set(types, memory)
  return memory
}

/** Reads a task type through a memory of one second, for those who read it once per task. */
export function cachedTypeReader(
  system: Pick<System, 'types' | 'clock'>,
): (type: string) => Promise<TaskType | undefined> {
  return async type => (await cachedType(system, type)).value
}

/** The type, as it was within the last second. */
export function cachedType(
  { types, clock }: Pick<System, 'types' | 'clock'>,
  type: string,
): Promise<Known<TaskType | undefined>> {
  return memoryOf(types).get(clock, type, () => types.get(type))
}

/** The type as it is now, remembered for those to whom a second makes no difference. */
async function freshType(
  system: Pick<System, 'types' | 'clock'>,
  type: string,
): Promise<TaskType | undefined> {
  forgetType(system, type)
  return (await cachedType(system, type)).value
}

/** Reads the type anew for all who ask from now on. */
export function forgetType({ types }: Pick<System, 'types'>, type: string): void {
  memories.get(types)?.forget(type)
}

/** How a piece of work reads types: through a memory, or not. */
export type TypeReader = (type: string) => Promise<TaskType | undefined>

/** For one batch: each type is read once, however many requests name it. */
export function batchTypeReader(system: Pick<System, 'types' | 'clock'>): TypeReader {
  const read = new Map<string, ReturnType<TypeReader>>()
  return type => {
    const known = read.get(type) ?? freshType(system, type)
    read.set(type, known)
    return known
  }
}
