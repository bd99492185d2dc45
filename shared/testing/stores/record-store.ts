import { type ActivityCount, activityAddedUp } from '../../core/activity/activity.ts'
import { addedUp, type FailureCount } from '../../core/failures/failures.ts'
import type { Json } from '../../core/json.ts'
import type { Clock } from '../../ports/machine.ts'
import type { ActivityStore, FailureStore, RecordStore } from '../../ports/stores.ts'

/** Stores records of the machinery in memory. Expired records count as gone. */
export function createMemoryRecordStore(clock: Pick<Clock, 'now'>): RecordStore {
  const records = new Map<string, { readonly json: string; readonly expiresAt: number }>()
  const get = (name: string): Json | undefined => {
    const record = records.get(name)
    return record && record.expiresAt > clock.now() ? (JSON.parse(record.json) as Json) : undefined
  }
  const put = (name: string, value: Json, expiresAt: number) => {
    records.set(name, { json: JSON.stringify(value), expiresAt })
  }
  return {
    get: async name => get(name),
    put: async (name, value, expiresAt) => put(name, value, expiresAt),
    putNew: async (name, value, expiresAt) => {
      const stored = get(name)
      if (stored === undefined) put(name, value, expiresAt)
      return stored
    },
  }
}

/** Stores counts of failures in memory. */
export function createMemoryFailureStore(): FailureStore {
  const counts = new Map<string, FailureCount>()
  return {
    add: async count => {
      const name = JSON.stringify([count.type, count.hour, count.error])
      const earlier = counts.get(name)
      const [sum = count] = addedUp(earlier ? [earlier, count] : [count], () => name)
      counts.set(name, sum)
    },
    since: async (type, hour, most) =>
      [...counts.values()]
        .filter(one => one.type === type && one.hour >= hour)
        .sort((a, b) => b.hour - a.hour || (a.error < b.error ? 1 : -1))
        .slice(0, most),
  }
}

/** Stores the activity of types in memory. */
export function createMemoryActivityStore(): ActivityStore {
  let counts: ActivityCount[] = []
  return {
    add: async count => {
      counts = activityAddedUp([...counts, count])
    },
    since: async (type, minute) =>
      counts.filter(one => one.type === type && one.minute >= minute).sort((a, b) => a.minute - b.minute),
  }
}
