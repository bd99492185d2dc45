import { createActivityStore } from '../../aws/dynamo/stores/activity-store.ts'
import { createDeadLetterStore } from '../../aws/dynamo/stores/dead-letter-store.ts'
import { storesOn } from '../../aws/dynamo/stores/stores.ts'
import type { Clock, Log } from '../../ports/machine.ts'
import { createMemoryTable, type TableSettings } from '../table/memory-table.ts'
import { createSeededChance } from './chance.ts'

export const MEMORY_TABLE = 'tasks'

type Settings = Omit<TableSettings, 'name'> & { readonly clock: Clock; readonly log?: Log }

/** The stores of a system on a table in memory: those that run on AWS. */
export function createMemoryStores({ clock, log, ...watching }: Settings) {
  const table = createMemoryTable({ name: MEMORY_TABLE, ...watching })
  let writes = 0
  const newWriteId = () => {
    writes += 1
    return `w${writes}`
  }
  const settings = {
    table: MEMORY_TABLE,
    clock,
    chance: createSeededChance(1),
    newWriteId,
    ...(log && { log }),
  }
  return {
    ...storesOn(table.documents, settings),
    activity: createActivityStore(table.documents, settings),
    deadLetters: createDeadLetterStore(table.documents, settings),
  }
}
