import type { Json } from '../../core/json.ts'
import type { Clock } from '../../ports/machine.ts'
import type { RecordStore } from '../../ports/stores.ts'

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
