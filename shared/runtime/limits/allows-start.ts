import { nextSlot, type StoredSlotLog } from '../../core/limits/slots.ts'
import type { Task } from '../../core/task/task.ts'
import type { System } from '../kernel/system.ts'
import { createTimedCache } from '../kernel/timed-cache.ts'
import { limitRulesOf } from './limit-rules.ts'

const LIFETIME_MS = 1_000

/**
 * Returns a function that says whether the rate limits allow a start of a task now. It caches the slot logs for one second, for
 * callers that ask once per task.
 */
export function cachedAllowance(system: System): (task: Task) => Promise<boolean> {
  const cache = createTimedCache<StoredSlotLog>(LIFETIME_MS)
  const logOf = async (name: string) =>
    (await cache.get(system.clock, name, () => system.limits.slots(name))).value.log
  return async task => {
    const { rates } = await limitRulesOf(system, task)
    const now = system.clock.now()
    const allowed = await Promise.all(
      rates.map(async ({ name, limit }) => nextSlot(await logOf(name), limit, now) <= now),
    )
    return allowed.every(Boolean)
  }
}
