import { type DynamoDBDocumentClient, GetCommand, UpdateCommand } from '@aws-sdk/lib-dynamodb'
import type { TurnStore } from '../../../ports/stores.ts'
import { answerOf, conditional, writeAnswer } from '../sending.ts'
import {
  advanceTurns,
  frontFromItem,
  getFront,
  getTurns,
  joinTurns,
  noteFront,
  turnsFromItem,
} from './turn-requests.ts'

/** Stores the turns of tenants in a DynamoDB table with the keys of `keys.ts`. */
export function createTurnStore(
  documents: DynamoDBDocumentClient,
  { table }: { readonly table: string },
): TurnStore {
  const read = async (request: ReturnType<typeof getTurns>) =>
    (await answerOf(documents.send(new GetCommand(request)))).Item
  return {
    of: async name => turnsFromItem(await read(getTurns(table, name))),
    advance: async (name, count, expiresAt) => {
      const request = advanceTurns(table, name, count, expiresAt)
      const { Attributes } = await writeAnswer(documents.send(new UpdateCommand(request)))
      return turnsFromItem(Attributes) ?? { last: count, joined: 0 }
    },
    join: async (name, from, expiresAt) => {
      const request = joinTurns(table, name, from, expiresAt)
      const written = await conditional(documents.send(new UpdateCommand(request)))
      return 'refusedBy' in written ? turnsFromItem(written.refusedBy) : undefined
    },
    front: async line => frontFromItem(await read(getFront(table, line))),
    noteFront: async (line, turn, expiresAt) => {
      await conditional(documents.send(new UpdateCommand(noteFront(table, line, turn, expiresAt))))
    },
  }
}
