import type { System } from '../../../shared/runtime/kernel/system.ts'
import { cachedLimitReader } from '../../../shared/runtime/limits/limit-usage.ts'
import { createSweepMemory } from '../../../shared/runtime/sweep/sweep-round.ts'
import { cachedTypeReader } from '../../../shared/runtime/types/type-cache.ts'
import { cachedLiveWorkers } from '../../../shared/runtime/worker/worker.ts'

/** The caches that a process keeps from one invocation to the next, as in the functions' entry points. */
export const typesIn = perSystem(cachedTypeReader)
export const sweepMemoryIn = perSystem(createSweepMemory)
export const limitsIn = perSystem(cachedLimitReader)
export const liveWorkersIn = perSystem(cachedLiveWorkers)

function perSystem<Cache>(make: (system: System) => Cache): (system: System) => Cache {
  const caches = new WeakMap<System, Cache>()
  return system => {
    const cache = caches.get(system) ?? make(system)
    caches.set(system, cache)
    return cache
  }
}
