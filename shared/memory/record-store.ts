import type { Json } from '../core/json.ts'
import type { Clock, RecordStore } from '../ports.ts'

/** Records of the machinery in memory. Expired ones count as gone. */
export function createMemoryRecordStore(clock: Pick<Clock, 'now'>): RecordStore {
  const records = new Map<string, { readonly json: string; readonly expiresAt: number }>()
  return {
    get: async name => {
      const record = records.get(name)
      return record && record.expiresAt > clock.now() ? (JSON.parse(record.json) as Json) : undefined
    },
    put: async (name, value, expiresAt) => {
      records.set(name, { json: JSON.stringify(value), expiresAt })
    },
  }
}
