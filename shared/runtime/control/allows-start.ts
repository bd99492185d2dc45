import type { StoredStarts } from '../../core/control/starts.ts'
import { nextStart } from '../../core/control/starts.ts'
import type { Task } from '../../core/task.ts'
import type { System } from '../system.ts'
import { termsOf } from './limits-of.ts'

const LIFETIME_MS = 1_000
const MAX_ENTRIES = 1_000

/** Whether rate limits allow a start of a task now, through a memory of one second for those who ask once per task. */
export function cachedAllowance(system: System): (task: Task) => Promise<boolean> {
  const entries = new Map<string, { readonly until: number; readonly read: Promise<StoredStarts> }>()
  const starts = (name: string) => {
    const now = system.clock.now()
    const known = entries.get(name)
    if (known && known.until > now) return known.read
    if (entries.size >= MAX_ENTRIES) entries.clear()
    const read = system.limits.starts(name)
    entries.set(name, { until: now + LIFETIME_MS, read })
    read.catch(() => entries.delete(name))
    return read
  }
  return async task => {
    const { rates } = await termsOf(system, task)
    const now = system.clock.now()
    const allowed = await Promise.all(
      rates.map(async ({ name, limit }) => nextStart((await starts(name)).log, limit, now) <= now),
    )
    return allowed.every(Boolean)
  }
}
