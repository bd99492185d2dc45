import {
  type DynamoDBDocumentClient,
  GetCommand,
  PutCommand,
  QueryCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb'
import { BatonError } from '../../../core/errors.ts'
import type { TaskType } from '../../../core/types/task-type.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { TypeStore } from '../../../ports/stores.ts'
import { unreadableLogger } from '../head/unreadable-heads.ts'
import { answerOf, conditional } from '../sending.ts'
import { typeFromItem, typeItem } from '../side-items.ts'
import type { Item } from '../stored-form.ts'
import { getType, listTypes, markTypeFair, putType } from './type-requests.ts'

type TypeTable = {
  readonly table: string
  readonly clock: Pick<Clock, 'now'>
  /** Logs the types that `list` leaves out. @default no log */
  readonly log?: Pick<Log, 'error'>
}

/** Stores task types in a DynamoDB table with the keys of `keys.ts`. */
export function createTypeStore(
  documents: DynamoDBDocumentClient,
  { table, clock, log = { error: () => undefined } }: TypeTable,
): TypeStore {
  const logUnreadable = unreadableLogger(log, clock, 'type')
  const readable = (item: Item): TaskType[] => {
    try {
      return [typeFromItem(item)]
    } catch (error) {
      if (!(error instanceof BatonError && error.code === 'unreadable')) throw error
      logUnreadable(String(item.sk), error)
      return []
    }
  }
  return {
    get: async type => {
      const { Item } = await answerOf(documents.send(new GetCommand(getType(table, type))))
      return Item && typeFromItem(Item)
    },
    list: async () => {
      const types: TaskType[] = []
      let start: Item | undefined
      do {
        const { Items, LastEvaluatedKey } = await answerOf(
          documents.send(new QueryCommand(listTypes(table, start))),
        )
        types.push(...(Items ?? []).flatMap(readable))
        start = LastEvaluatedKey
      } while (start)
      return types
    },
    put: async (next, version) => {
      const written = await conditional(documents.send(new PutCommand(putType(table, next, version))))
      return 'answer' in written || isOwnWrite(next, written.refusedBy)
    },
    markFair: async (next, version) => {
      const written = await conditional(documents.send(new UpdateCommand(markTypeFair(table, next, version))))
      return 'answer' in written
    },
  }
}

/** Whether a refused write is stored already. A repetition after a lost answer finds exactly what it would have written. */
function isOwnWrite(next: TaskType, stored: Item | undefined): boolean {
  return stored?.json === typeItem(next).json
}
