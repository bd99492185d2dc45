import type { TurnStore } from '../../../ports/stores.ts'
import type { Documents } from '../documents.ts'
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
export function createTurnStore(documents: Documents, { table }: { readonly table: string }): TurnStore {
  return {
    of: async name => turnsFromItem(await documents.get(getTurns(table, name))),
    advance: async (name, count, expiresAt) => {
      const request = advanceTurns(table, name, count, expiresAt)
      return turnsFromItem((await documents.update(request)).item) ?? { last: count, joined: 0 }
    },
    join: async (name, from, expiresAt) => {
      const { isWritten, item } = await documents.update(joinTurns(table, name, from, expiresAt))
      return isWritten ? undefined : turnsFromItem(item)
    },
    front: async line => frontFromItem(await documents.get(getFront(table, line))),
    noteFront: async (line, turn, expiresAt) => {
      await documents.update(noteFront(table, line, turn, expiresAt))
    },
  }
}
