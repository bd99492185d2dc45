import type { TaskType } from '../core/task-type.ts'
import type { TypeStore } from '../ports/stores.ts'
import type { System } from './system.ts'

/** A change of a type's configuration, and a pause, reach those who claim within this time. */
export const TYPE_LIFETIME_MS = 1_000
const MAX_ENTRIES = 1_000

/** A type as it stood at `readAt` or later. */
export type KnownType = { readonly type: TaskType | undefined; readonly readAt: number }

type Entry = { readonly readAt: number; readonly read: Promise<KnownType> }

/** One memory for all who claim in this process through the same store. */
const memories = new WeakMap<TypeStore, Map<string, Entry>>()

/** Reads a task type through a memory of one second, for those who read it once per task. */
export function cachedTypes(
  system: Pick<System, 'types' | 'clock'>,
): (type: string) => Promise<TaskType | undefined> {
  return async type => (await knownType(system, type)).type
}

/** The type, as it was within the last second. */
export function knownType(
  { types, clock }: Pick<System, 'types' | 'clock'>,
  type: string,
): Promise<KnownType> {
  const entries = memories.get(types) ?? new Map<string, Entry>()
  memories.set(types, entries)
  const readAt = clock.now()
  const known = entries.get(type)
  if (known && known.readAt + TYPE_LIFETIME_MS > readAt) return known.read
  if (entries.size >= MAX_ENTRIES) entries.clear()
  const read = types.get(type).then(found => ({ type: found, readAt }))
  entries.set(type, { readAt, read })
  read.catch(() => entries.delete(type))
  return read
}

/** The type as it is now, remembered for those to whom a second makes no difference. */
export async function freshType(
  system: Pick<System, 'types' | 'clock'>,
  type: string,
): Promise<TaskType | undefined> {
  forgetType(system, type)
  return (await knownType(system, type)).type
}

/** Reads the type anew for all who ask from now on. */
export function forgetType({ types }: Pick<System, 'types'>, type: string): void {
  memories.get(types)?.delete(type)
}
