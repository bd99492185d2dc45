import type { Change } from '../core/change/change.ts'
import { BatonError } from '../core/errors.ts'
import type { Task } from '../core/task/task.ts'
import type { Messages } from '../ports/messages.ts'
import { CHANGE_HOOKS } from '../runtime/change-hooks.ts'
import type { System } from '../runtime/kernel/system.ts'
import { createHeadReader } from './dynamo/head/head-reader.ts'
import { transactEntries } from './dynamo/head/transact-entries.ts'
import type { TransactEntry } from './dynamo/head/transact-entry.ts'
import { storesOn } from './dynamo/stores/stores.ts'
import { systemChance, systemClock } from './environment.ts'
import { type AwsSettings, createDocuments, newWriteId } from './system.ts'

/** The ports of a program that works on the table alone, without the queues of the system. */
export type TableSystem = {
  readonly system: System
  /** Makes the entries by which a transaction of the program creates the change's task. */
  entriesOf(change: Change<Task>): Promise<TransactEntry[]>
}

type TableSettings = Pick<AwsSettings, 'table' | 'log' | 'metrics'> & {
  /** @default found by the SDK */
  readonly region?: string
}

/**
 * Creates the ports of a program that works on the table alone. Its changes reach the planner through the table's stream. It sends no
 * message: the sweeper sends those that a change of a type needs.
 */
export function createTableSystem({ table, region, log, metrics }: TableSettings): TableSystem {
  const documents = createDocuments(region)
  const heads = createHeadReader(documents, table)
  const machine = { clock: systemClock, chance: systemChance }
  return {
    system: {
      ...machine,
      ...storesOn(documents, { table, log, newWriteId, ...machine }),
      messages: NO_MESSAGES,
      log,
      metrics,
      changeHooks: CHANGE_HOOKS,
    },
    entriesOf: change => transactEntries({ heads, table, writeId: newWriteId() }, change),
  }
}

const refuse = async (): Promise<never> => {
  throw new BatonError('misconfigured', 'a program that works on the table alone sends no messages')
}

const NO_MESSAGES: Messages = {
  dispatch: refuse,
  look: refuse,
  lookAtMinute: refuse,
  lookAtCanvases: refuse,
  continueJobs: refuse,
  lookAtLimits: refuse,
  backlog: refuse,
  waitingJobs: refuse,
}
