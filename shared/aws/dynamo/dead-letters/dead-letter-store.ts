import {
  DeleteCommand,
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
} from '@aws-sdk/lib-dynamodb'
import type { DeadLetter } from '../../../core/dead-letters/dead-letters.ts'
import { lostMessageOf } from '../../../core/dead-letters/lost-message.ts'
import type { Clock } from '../../../ports/machine.ts'
import type { DeadLetterStore } from '../../../ports/stores.ts'
import { answerOf, conditional, writeAnswer } from '../sending.ts'
import { assertKnownSchema, type Item } from '../stored-form.ts'
import * as requests from './dead-letter-requests.ts'

type Settings = { readonly table: string; readonly clock: Pick<Clock, 'now'> }

/** Stores dead letters in a DynamoDB table with the keys of `keys.ts`. A long body takes items of its own, which are written first. */
export function createDeadLetterStore(
  documents: DynamoDBDocumentClient,
  { table, clock }: Settings,
): DeadLetterStore {
  const isKept = ({ expires }: Item) => (expires as number) > clock.now()
  return {
    put: async (letter, body) => {
      const chunks = requests.chunksOf(body).map((text, chunk) => ({ chunk, text }))
      for (const one of chunks) {
        await writeAnswer(documents.send(new PutCommand(requests.putChunk(table, letter, one))))
      }
      await writeAnswer(documents.send(new PutCommand(requests.putLetter(table, letter, body))))
    },
    get: async id => {
      const { Item } = await answerOf(documents.send(new GetCommand(requests.getLetter(table, id))))
      if (!Item || !isKept(Item)) return undefined
      const body = await bodyOf(documents, table, Item)
      return body === undefined ? undefined : { letter: letterFrom(Item), body }
    },
    page: async query => {
      const request = new QueryCommand(requests.queryLetters(table, query))
      const { Items = [], LastEvaluatedKey } = await answerOf(documents.send(request))
      const letters = Items.filter(isKept).map(letterFrom)
      return { letters, ...(LastEvaluatedKey && { next: LastEvaluatedKey.sk as string }) }
    },
    remove: async letter => {
      const { Item } = await answerOf(documents.send(new GetCommand(requests.getLetter(table, letter.id))))
      const lost = lostMessageOf(letter)
      if (lost) {
        const request = requests.deleteNote(table, lost.taskId, letter.id)
        await conditional(documents.send(new DeleteCommand(request)), answerOf)
      }
      await answerOf(documents.send(new DeleteCommand(requests.deleteLetter(table, letter.id))))
      for (let chunk = 0; chunk < Number(Item?.chunks ?? 0); chunk++) {
        await answerOf(
          documents.send(new DeleteCommand(requests.deleteChunk(table, letter.messageId, chunk))),
        )
      }
    },
    note: async lost => {
      await writeAnswer(documents.send(new PutCommand(requests.putNote(table, lost))))
    },
    noteOf: async taskId => {
      const { Item } = await answerOf(documents.send(new GetCommand(requests.getNote(table, taskId))))
      return Item && isKept(Item) ? requests.noteFromItem(Item) : undefined
    },
  }
}

function letterFrom(item: Item): DeadLetter {
  assertKnownSchema(item)
  return JSON.parse(item.json as string) as DeadLetter
}

/** The whole body; undefined when a chunk is gone, because DynamoDB has begun to delete the expired letter. */
async function bodyOf(
  documents: DynamoDBDocumentClient,
  table: string,
  item: Item,
): Promise<string | undefined> {
  const { body, chunks = 0 } = item
  if (body !== undefined) return body as string
  const { messageId } = letterFrom(item)
  const texts: string[] = []
  for (let chunk = 0; chunk < Number(chunks); chunk++) {
    const request = new GetCommand(requests.getChunk(table, messageId, chunk))
    const { Item } = await answerOf(documents.send(request))
    if (!Item) return undefined
    texts.push(Item.body as string)
  }
  return texts.join('')
}
