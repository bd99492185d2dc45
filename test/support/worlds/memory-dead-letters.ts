import {
  type DeadLetter,
  idsOfQueue,
  letterExpiresAt,
} from '../../../shared/core/dead-letters/dead-letters.ts'
import { type LostMessage, lostMessageOf } from '../../../shared/core/dead-letters/lost-message.ts'
import type { Clock } from '../../../shared/ports/machine.ts'
import type { DeadLetterStore } from '../../../shared/ports/stores.ts'

/** Stores dead letters in memory. */
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
