import { type ActivityCount, activityAddedUp } from '../../core/activity/activity.ts'
import { type DeadLetter, idsOfQueue, letterExpiresAt } from '../../core/dead-letters/dead-letters.ts'
import { type LostMessage, lostMessageOf } from '../../core/dead-letters/lost-message.ts'
import { addedUp, type FailureCount } from '../../core/failures/failures.ts'
import type { Json } from '../../core/json.ts'
import type { Clock } from '../../ports/machine.ts'
import type { ActivityStore, DeadLetterStore, FailureStore, RecordStore } from '../../ports/stores.ts'

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

/** Stores dead letters in memory. Expired ones count as gone. */
export function createMemoryDeadLetterStore(clock: Pick<Clock, 'now'>): DeadLetterStore {
  const letters = new Map<string, { readonly letter: DeadLetter; readonly body: string }>()
  const notes = new Map<string, LostMessage>()
  const isKept = (letter: DeadLetter) => letterExpiresAt(letter) > clock.now()
  return {
    put: async (letter, body) => {
      letters.set(letter.id, { letter, body })
    },
    get: async id => {
      const found = letters.get(id)
      return found && isKept(found.letter) ? found : undefined
    },
    page: async ({ queue, after, limit }) => {
      const listed = [...letters.values()]
        .map(({ letter }) => letter)
        .filter(({ id }) => queue === undefined || id.startsWith(idsOfQueue(queue)))
        .filter(({ id }) => after === undefined || id < after)
        .sort((a, b) => (a.id < b.id ? 1 : -1))
      const read = listed.slice(0, limit)
      const next = listed.length >= limit ? read.at(-1)?.id : undefined
      return { letters: read.filter(isKept), ...(next !== undefined && { next }) }
    },
    remove: async letter => {
      letters.delete(letter.id)
      const lost = lostMessageOf(letter)
      if (lost && notes.get(lost.taskId)?.letterId === letter.id) notes.delete(lost.taskId)
    },
    note: async lost => {
      notes.set(lost.taskId, lost)
    },
    noteOf: async taskId => {
      const note = notes.get(taskId)
      return note && note.expiresAt > clock.now() ? note : undefined
    },
  }
}
