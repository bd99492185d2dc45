import type { TaskType } from '../core/task-type.ts'
import type { System } from './system.ts'

/** A change of a type's configuration reaches workers within this time. */
const LIFETIME_MS = 1_000
const MAX_ENTRIES = 1_000

/** Reads a task type through a memory of one second, for those who read it once per task. */
export function cachedTypes({
  types,
  clock,
}: Pick<System, 'types' | 'clock'>): (type: string) => Promise<TaskType | undefined> {
  const entries = new Map<string, { readonly until: number; readonly read: Promise<TaskType | undefined> }>()
  return type => {
    const known = entries.get(type)
    if (known && known.until > clock.now()) return known.read
    if (entries.size >= MAX_ENTRIES) entries.clear()
    const read = types.get(type)
    entries.set(type, { until: clock.now() + LIFETIME_MS, read })
    read.catch(() => entries.delete(type))
    return read
  }
}
