import { BatonError } from '../../../core/errors.ts'
import type { TaskType } from '../../../core/types/task-type.ts'
import type { Clock, Log } from '../../../ports/machine.ts'
import type { TypeStore } from '../../../ports/stores.ts'
import type { Documents } from '../documents.ts'
import { unreadableLogger } from '../head/unreadable-heads.ts'
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
  documents: Documents,
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
      const item = await documents.get(getType(table, type))
      return item && typeFromItem(item)
    },
    list: async () => {
      const types: TaskType[] = []
      let start: Item | undefined
      do {
        const { items, next } = await documents.query(listTypes(table, start))
        types.push(...items.flatMap(readable))
        start = next
      } while (start)
      return types
    },
    put: async (next, version) => {
      const { isWritten, item } = await documents.put(putType(table, next, version))
      return isWritten || isOwnWrite(next, item)
    },
    markFair: async (next, version) => (await documents.update(markTypeFair(table, next, version))).isWritten,
  }
}

/** Whether a refused write is stored already. A repetition after a lost answer finds exactly what it would have written. */
function isOwnWrite(next: TaskType, stored: Item | undefined): boolean {
  return stored?.json === typeItem(next).json
}
