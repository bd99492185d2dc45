import type { Clock } from '../../ports/machine.ts'
import { isWithin, type Moment, momentOf } from './moment.ts'

/** What was read, as it stood at `readAt` or later. */
export type Known<Value> = { readonly value: Value; readonly readAt: Moment }

/** Values that are read once in a lifetime, however often they are asked for. */
export type TimedCache<Value> = {
  /** The value under the name, read anew when what is known is older than the lifetime; a failed read is forgotten. */
  get(
    clock: Pick<Clock, 'now' | 'monotonic'>,
    name: string,
    read: () => Promise<Value>,
  ): Promise<Known<Value>>
  /** The value is read anew for all that ask from now on. */
  forget(name: string): void
}

/** A cache that holds `maxEntries` at most: it forgets them all and reads on. */
export function createTimedCache<Value>(lifetimeMs: number, maxEntries = 1_000): TimedCache<Value> {
  const entries = new Map<string, { readonly readAt: Moment; readonly read: Promise<Known<Value>> }>()
  return {
    get: (clock, name, read) => {
      const known = entries.get(name)
      if (known && isWithin(clock, known.readAt, lifetimeMs)) return known.read
      if (entries.size >= maxEntries) entries.clear()
      const readAt = momentOf(clock)
      const entry = { readAt, read: read().then(value => ({ value, readAt })) }
      entries.set(name, entry)
      entry.read.catch(() => {
        if (entries.get(name) === entry) entries.delete(name)
      })
      return entry.read
    },
    forget: name => void entries.delete(name),
  }
}
