import type { DeadLetter, LostMessage } from '../../../core/dead-letters.ts'
import { idsOfQueue, letterExpiresAt, lostMessageOf } from '../../../core/dead-letters.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { DeadLetterStore } from '../../../ports/stores.ts'
import type { Documents, Item, RequestOf } from '../documents.ts'
import { assertKnownSchema, SCHEMA, ttlSeconds } from '../documents.ts'
import { chunkSortKey, DEAD_LETTERS_PARTITION, LOST_MESSAGE_SORT_KEY, letterBodyPartition } from '../keys.ts'
import { getItem, ifStored, queryPartition } from '../requests.ts'

type Settings = { readonly table: string; readonly clock: Pick<Clock, 'now'> }

/** Stores dead letters in a DynamoDB table with the keys of `keys.ts`. A long body takes items of its own, which are written first. */
export function createDeadLetterStore(documents: Documents, { table, clock }: Settings): DeadLetterStore {
  const isKept = ({ expires }: Item) => (expires as number) > clock.now()
  return {
    put: async (letter, body) => {
      const chunks = chunksOf(body).map((text, chunk) => ({ chunk, text }))
      for (const one of chunks) await documents.put(putChunk(table, letter, one))
      await documents.put(putLetter(table, letter, body))
    },
    get: async id => {
      const item = await documents.get(getItem(table, letterKey(id)))
      if (!item || !isKept(item)) return undefined
      const body = await bodyOf(documents, table, item)
      return body === undefined ? undefined : { letter: letterFrom(item), body }
    },
    page: async query => {
      const { items, next } = await documents.query(queryLetters(table, query))
      const letters = items.filter(isKept).map(letterFrom)
      return { letters, ...(next && { next: next.sk as string }) }
    },
    remove: async letter => {
      const item = await documents.get(getItem(table, letterKey(letter.id)))
      const lost = lostMessageOf(letter)
      if (lost) await documents.delete(deleteNote(table, lost.taskId, letter.id))
      // These deletions have no guard, since a repeated one changes nothing.
      await documents.delete({ TableName: table, Key: letterKey(letter.id) })
      for (let chunk = 0; chunk < Number(item?.chunks ?? 0); chunk++) {
        await documents.delete({ TableName: table, Key: chunkKey(letter.messageId, chunk) })
      }
    },
    note: async lost => {
      await documents.put(putNote(table, lost))
    },
    noteOf: async taskId => {
      // Eventually consistent: a note only explains.
      const item = await documents.get({ TableName: table, Key: noteKey(taskId) })
      return item && isKept(item) ? noteFromItem(item) : undefined
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
    const stored = await documents.get(getItem(table, chunkKey(messageId, chunk)))
    if (!stored) return undefined
    texts.push(stored.body as string)
  }
  return texts.join('')
}

/** Requests about dead letters, their bodies and their notes. */

/** Bodies up to this length are in the letter's own item, so that a list reads at most some 3 KB for each letter. */
const INLINE_CHARACTERS_MAX = 2_000
/** A character takes up to 3 bytes, and an item at most 400 KB. Source: DynamoDB quotas. */
const CHUNK_CHARACTERS_MAX = 120_000

/** Cuts a body into chunks. No chunk ends within a surrogate pair, which DynamoDB could not store. */
function chunksOf(body: string): string[] {
  if (body.length <= INLINE_CHARACTERS_MAX) return []
  const chunks: string[] = []
  for (let at = 0; at < body.length; ) {
    const end = at + CHUNK_CHARACTERS_MAX
    const isWithinPair = /[\ud800-\udbff]/.test(body.charAt(end - 1)) && end < body.length
    const chunk = body.slice(at, isWithinPair ? end - 1 : end)
    chunks.push(chunk)
    at += chunk.length
  }
  return chunks
}

function letterKey(id: string) {
  return { pk: DEAD_LETTERS_PARTITION, sk: id }
}

function chunkKey(messageId: string, chunk: number) {
  return { pk: letterBodyPartition(messageId), sk: chunkSortKey(chunk) }
}

function noteKey(taskId: string) {
  return { pk: taskId, sk: LOST_MESSAGE_SORT_KEY }
}

/** Writes a letter. No guard: a message that arrives again is the same letter. */
function putLetter(table: string, letter: DeadLetter, body: string): RequestOf<'put'> {
  const expires = letterExpiresAt(letter)
  const chunks = chunksOf(body).length
  const Item = {
    ...{ ...letterKey(letter.id), ...SCHEMA, expires, ttl: ttlSeconds(expires) },
    json: JSON.stringify(letter),
    ...(chunks > 0 ? { chunks } : { body }),
  }
  return { TableName: table, Item }
}

/** Writes one chunk of a body. It lives as long as its letter. */
function putChunk(
  table: string,
  letter: DeadLetter,
  { chunk, text }: { readonly chunk: number; readonly text: string },
): RequestOf<'put'> {
  const Item = { ...chunkKey(letter.messageId, chunk), ...SCHEMA, body: text }
  return { TableName: table, Item: { ...Item, ttl: ttlSeconds(letterExpiresAt(letter)) } }
}

/** Reads letters in descending order of their ids. Eventually consistent. */
function queryLetters(
  table: string,
  query: { readonly queue?: string; readonly after?: string; readonly limit: number },
): RequestOf<'query'> {
  const { queue, after, limit } = query
  const ids = queue === undefined ? undefined : idsOfQueue(queue)
  return {
    ...queryPartition(table, DEAD_LETTERS_PARTITION, { prefix: ids }),
    ScanIndexForward: false,
    Limit: limit,
    ...(after !== undefined && { ExclusiveStartKey: letterKey(after) }),
  }
}

/** Writes the note about a task. No guard: the last note wins, and a note for another revision is void. */
function putNote(table: string, lost: LostMessage): RequestOf<'put'> {
  const { taskId, born, revision, letterId, kind, at, receives, expiresAt } = lost
  const Item = {
    ...{ ...noteKey(taskId), ...SCHEMA, born, rev: revision, at, receives },
    ...{ letter: letterId, kind, expires: expiresAt, ttl: ttlSeconds(expiresAt) },
  }
  return { TableName: table, Item }
}

/** Deletes the note about a task. Guard: it is the note of this letter. */
function deleteNote(table: string, taskId: string, letterId: string): RequestOf<'delete'> {
  return { TableName: table, Key: noteKey(taskId), ...ifStored({ letter: letterId }) }
}

function noteFromItem({ pk, born, rev, letter, kind, at, receives, expires }: Item): LostMessage {
  return {
    ...{ taskId: pk as string, born: born as string, revision: rev as number, letterId: letter as string },
    ...{ kind: kind as LostMessage['kind'], at: at as number, receives: receives as number },
    expiresAt: expires as number,
  }
}
