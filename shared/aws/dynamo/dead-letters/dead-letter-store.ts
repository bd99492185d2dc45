import type { DeadLetter } from '../../../core/dead-letters/dead-letters.ts'
import { lostMessageOf } from '../../../core/dead-letters/lost-message.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { DeadLetterStore } from '../../../ports/stores.ts'
import type { Documents } from '../documents.ts'
import { assertKnownSchema, type Item } from '../stored-form.ts'
import * as requests from './dead-letter-requests.ts'

type Settings = { readonly table: string; readonly clock: Pick<Clock, 'now'> }

/** Stores dead letters in a DynamoDB table with the keys of `keys.ts`. A long body takes items of its own, which are written first. */
export function createDeadLetterStore(documents: Documents, { table, clock }: Settings): DeadLetterStore {
  const isKept = ({ expires }: Item) => (expires as number) > clock.now()
  return {
    put: async (letter, body) => {
      const chunks = requests.chunksOf(body).map((text, chunk) => ({ chunk, text }))
      for (const one of chunks) await documents.put(requests.putChunk(table, letter, one))
      await documents.put(requests.putLetter(table, letter, body))
    },
    get: async id => {
      const item = await documents.get(requests.getLetter(table, id))
      if (!item || !isKept(item)) return undefined
      const body = await bodyOf(documents, table, item)
      return body === undefined ? undefined : { letter: letterFrom(item), body }
    },
    page: async query => {
      const { items, next } = await documents.query(requests.queryLetters(table, query))
      const letters = items.filter(isKept).map(letterFrom)
      return { letters, ...(next && { next: next.sk as string }) }
    },
    remove: async letter => {
      const item = await documents.get(requests.getLetter(table, letter.id))
      const lost = lostMessageOf(letter)
      if (lost) await documents.delete(requests.deleteNote(table, lost.taskId, letter.id))
      await documents.delete(requests.deleteLetter(table, letter.id))
      for (let chunk = 0; chunk < Number(item?.chunks ?? 0); chunk++) {
        await documents.delete(requests.deleteChunk(table, letter.messageId, chunk))
      }
    },
    note: async lost => {
      await documents.put(requests.putNote(table, lost))
    },
    noteOf: async taskId => {
      const item = await documents.get(requests.getNote(table, taskId))
      return item && isKept(item) ? requests.noteFromItem(item) : undefined
    },
  }
}

function letterFrom(item: Item): DeadLetter {
  assertKnownSchema(item)
  return JSON.parse(item.json as string) as DeadLetter
}

/** The whole body; undefined when a chunk is gone, because DynamoDB has begun to delete the expired letter. */
async function bodyOf(documents: Documents, table: string, item: Item): Promise<string | undefined> {
  const { body, chunks = 0 } = item
  if (body !== undefined) return body as string
  const { messageId } = letterFrom(item)
  const texts: string[] = []
  for (let chunk = 0; chunk < Number(chunks); chunk++) {
    const stored = await documents.get(requests.getChunk(table, messageId, chunk))
    if (!stored) return undefined
    texts.push(stored.body as string)
  }
  return texts.join('')
}
