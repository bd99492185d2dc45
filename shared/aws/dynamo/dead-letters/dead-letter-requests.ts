import { type DeadLetter, idsOfQueue, letterExpiresAt } from '../../../core/dead-letters/dead-letters.ts'
import type { LostMessage } from '../../../core/dead-letters/lost-message.ts'
import {
  type DeleteRequest,
  type GetRequest,
  METERED,
  type PutRequest,
  type QueryRequest,
} from '../documents.ts'
import { chunkSortKey, DEAD_LETTERS_PARTITION, LOST_MESSAGE_SORT_KEY, letterBodyPartition } from '../keys.ts'
import { type Item, SCHEMA, ttlSeconds } from '../stored-form.ts'

/** Requests about dead letters, their bodies and their notes. */

/** Bodies up to this length stand in the letter's own item, so that a list reads at most some 3 KB for each letter. */
const INLINE_CHARACTERS_MAX = 2_000
/** A character takes up to 3 bytes, and an item at most 400 KB. Source: DynamoDB quotas. */
const CHUNK_CHARACTERS_MAX = 120_000

/** Cuts a body into chunks. No chunk ends within a surrogate pair, which DynamoDB could not store. */
export function chunksOf(body: string): string[] {
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

/** Writes a letter. No guard: a message that arrives again is the same letter. */
export function putLetter(table: string, letter: DeadLetter, body: string): PutRequest {
  const expires = letterExpiresAt(letter)
  const chunks = chunksOf(body).length
  const Item = {
    ...{ pk: DEAD_LETTERS_PARTITION, sk: letter.id, ...SCHEMA, expires, ttl: ttlSeconds(expires) },
    json: JSON.stringify(letter),
    ...(chunks > 0 ? { chunks } : { body }),
  }
  return { ...METERED, TableName: table, Item }
}

/** Writes one chunk of a body. It lives as long as its letter. */
export function putChunk(
  table: string,
  letter: DeadLetter,
  { chunk, text }: { readonly chunk: number; readonly text: string },
): PutRequest {
  const key = { pk: letterBodyPartition(letter.messageId), sk: chunkSortKey(chunk) }
  const Item = { ...key, ...SCHEMA, body: text, ttl: ttlSeconds(letterExpiresAt(letter)) }
  return { ...METERED, TableName: table, Item }
}

/** Reads a letter. Strongly consistent. */
export function getLetter(table: string, id: string): GetRequest {
  const Key = { pk: DEAD_LETTERS_PARTITION, sk: id }
  return { ...METERED, TableName: table, Key, ConsistentRead: true }
}

/** Reads one chunk. Strongly consistent. */
export function getChunk(table: string, messageId: string, chunk: number): GetRequest {
  const Key = { pk: letterBodyPartition(messageId), sk: chunkSortKey(chunk) }
  return { ...METERED, TableName: table, Key, ConsistentRead: true }
}

/** Reads letters in descending order of their ids. Eventually consistent. */
export function queryLetters(
  table: string,
  query: { readonly queue?: string; readonly after?: string; readonly limit: number },
): QueryRequest {
  const { queue, after, limit } = query
  const ofQueue = queue !== undefined
  return {
    ...METERED,
    TableName: table,
    KeyConditionExpression: ofQueue ? '#pk = :pk AND begins_with(#sk, :ids)' : '#pk = :pk',
    ExpressionAttributeNames: { '#pk': 'pk', ...(ofQueue && { '#sk': 'sk' }) },
    ExpressionAttributeValues: {
      ':pk': DEAD_LETTERS_PARTITION,
      ...(ofQueue && { ':ids': idsOfQueue(queue) }),
    },
    ScanIndexForward: false,
    Limit: limit,
    ...(after !== undefined && { ExclusiveStartKey: { pk: DEAD_LETTERS_PARTITION, sk: after } }),
  }
}

/** Deletes a letter. No guard: a repeated deletion changes nothing. */
export function deleteLetter(table: string, id: string): DeleteRequest {
  return { ...METERED, TableName: table, Key: { pk: DEAD_LETTERS_PARTITION, sk: id } }
}

/** Deletes one chunk. No guard: a repeated deletion changes nothing. */
export function deleteChunk(table: string, messageId: string, chunk: number): DeleteRequest {
  return {
    ...METERED,
    TableName: table,
    Key: { pk: letterBodyPartition(messageId), sk: chunkSortKey(chunk) },
  }
}

/** Writes the note beside a task. No guard: the last note wins, and a note for another revision is void. */
export function putNote(table: string, lost: LostMessage): PutRequest {
  const { taskId, born, revision, letterId, kind, at, receives, expiresAt } = lost
  const Item = {
    ...{ pk: taskId, sk: LOST_MESSAGE_SORT_KEY, ...SCHEMA, born, rev: revision, at, receives },
    ...{ letter: letterId, kind, expires: expiresAt, ttl: ttlSeconds(expiresAt) },
  }
  return { ...METERED, TableName: table, Item }
}

/** Reads the note beside a task. Eventually consistent. */
export function getNote(table: string, taskId: string): GetRequest {
  return { ...METERED, TableName: table, Key: { pk: taskId, sk: LOST_MESSAGE_SORT_KEY } }
}

/** Deletes the note beside a task. Guard: it is the note of this letter. */
export function deleteNote(table: string, taskId: string, letterId: string): DeleteRequest {
  return {
    ...METERED,
    TableName: table,
    Key: { pk: taskId, sk: LOST_MESSAGE_SORT_KEY },
    ConditionExpression: '#letter = :letter',
    ExpressionAttributeNames: { '#letter': 'letter' },
    ExpressionAttributeValues: { ':letter': letterId },
  }
}

export function noteFromItem({ pk, born, rev, letter, kind, at, receives, expires }: Item): LostMessage {
  return {
    ...{ taskId: pk as string, born: born as string, revision: rev as number, letterId: letter as string },
    ...{ kind: kind as LostMessage['kind'], at: at as number, receives: receives as number },
    expiresAt: expires as number,
  }
}
