import { cachedAllowance } from '../../../shared/runtime/control/allows-start.ts'
import { cachedLiveWorkers } from '../../../shared/runtime/live-workers.ts'
import type { Rounds } from '../../../shared/runtime/sweep.ts'
import type { SeenMinutes } from '../../../shared/runtime/sweep-minutes.ts'
import type { System } from '../../../shared/runtime/system.ts'
import { cachedTypes } from '../../../shared/runtime/type-cache.ts'

/** What a process of the API or a Lambda remembers from one invocation to the next, as its entry does. */
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
