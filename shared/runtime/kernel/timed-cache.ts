import type { Clock } from '../../ports/machine.ts'
import { isWithin, type Moment, momentOf } from './moment.ts'

/** A cached value. It was read at `readAt` or later. */
export type Known<Value> = { readonly value: Value; readonly readAt: Moment }

/** A cache that reads each value once per lifetime, however often it is asked for. */
type TimedCache<Value> = {
  /**
   * The value under the name. It is read again when the cached one is older than the lifetime. A failed read is not
   * cached.
   */
  get(
    clock: Pick<Clock, 'now' | 'monotonic'>,
    name: string,
    read: () => Promise<Value>,
  ): Promise<Known<Value>>
  /** Drops the value: the next `get` reads it again. */
  forget(name: string): void
}

/** A cache of at most `maxEntries` values. A full cache drops them all. */
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

/**
 * Creates a memory of this process beside a store or a queue, such as a cache, a wait list or a measured latency.
 * The memory is kept by the identity of its owner, so that two systems in one process, as in tests, share nothing.
 * It lives as long as its owner.
 */
export function processMemory<Value>(create: () => Value): (owner: object) => Value {
  const byOwner = new WeakMap<object, Value>()
  return owner => {
    const known = byOwner.get(owner) ?? create()
    byOwner.set(owner, known)
    return known
  }
}
