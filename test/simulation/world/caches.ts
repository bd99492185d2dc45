import type { System } from '../../../shared/runtime/kernel/system.ts'
import { cachedAllowance } from '../../../shared/runtime/limits/allows-start.ts'
import type { Rounds } from '../../../shared/runtime/sweep/sweep.ts'
import type { SeenMinutes } from '../../../shared/runtime/sweep/sweep-minutes.ts'
import { cachedTypes } from '../../../shared/runtime/types/type-cache.ts'
import { cachedLiveWorkers } from '../../../shared/runtime/worker/worker.ts'

/** The caches that a process keeps from one invocation to the next, as in the functions' entry points. */
export const typesIn = perSystem(cachedTypes)
export const roundsIn = perSystem((): Rounds => new Map())
export const allowanceIn = perSystem(cachedAllowance)
export const minutesIn = perSystem((): SeenMinutes => new Set())
export const liveWorkersIn = perSystem(cachedLiveWorkers)

function perSystem<Cache>(make: (system: System) => Cache): (system: System) => Cache {
  const caches = new WeakMap<System, Cache>()
  return system => {
    const cache = caches.get(system) ?? make(system)
    caches.set(system, cache)
    return cache
  }
}
