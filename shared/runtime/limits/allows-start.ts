import { nextSlot, type StoredSlots } from '../../core/limits/slots.ts'
import type { Task } from '../../core/task/task.ts'
import type { System } from '../kernel/system.ts'
import { createTimedCache } from '../kernel/timed-cache.ts'
import { limitRulesOf } from './limits.ts'

const LIFETIME_MS = 1_000

/** Whether rate limits allow a start of a task now, through a memory of one second for those who ask once per task. */
export function cachedAllowance(system: System): (task: Task) => Promise<boolean> {
  const cache = createTimedCache<StoredSlots>(LIFETIME_MS)
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
