import { randomBytes } from 'node:crypto'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SQSClient } from '@aws-sdk/client-sqs'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Change } from '../core/change.ts'
import type { Task } from '../core/task/task.ts'
import { BatonError } from '../core/values/values.ts'
import type { Chance, Clock, Log, Metrics } from '../ports/machine.ts'
import type { Messages, TaskCodec } from '../ports/messages.ts'
import { CHANGE_HOOKS } from '../runtime/change-hooks.ts'
import type { System } from '../runtime/kernel/system.ts'
import type { Documents } from './dynamo/documents.ts'
import { createHeadReader, createTaskCodec, type HeadReader } from './dynamo/head/head-reader.ts'
import { type TransactEntry, transactEntries } from './dynamo/head/transact-entries.ts'
import { sdkDocuments } from './dynamo/sdk-documents.ts'
import { storesOn } from './dynamo/stores/stores.ts'
import { type SystemAddress, systemChance, systemClock } from './environment.ts'
import { withConnectionQueue } from './requests.ts'
import { createSqsMessages } from './sqs/messages.ts'
import { createDispatchReader, type DispatchReader } from './sqs/read-dispatch.ts'

export type AwsSettings = SystemAddress & {
  readonly log: Log
  readonly metrics: Metrics
  readonly clock?: Clock
  readonly chance?: Chance
}

/** The system of a process on AWS that receives dispatches from queues, and the parts that read them. */
export type ReceivingSystem = {
  readonly system: System
  readonly codec: TaskCodec
  readonly readDispatch: DispatchReader
}

/**
 * Creates the ports that every process on AWS needs. `functions/compose` adds timers and the event bus where a function needs them.
 * The SDK finds the region and the credentials.
 */
export function createAwsSystem(settings: AwsSettings): System {
  return createReceivingSystem(settings).system
}

/** Like `createAwsSystem`, for a process that also receives dispatches from queues: adds the parts that read them. */
export function createReceivingSystem({
  log,
  metrics,
  clock = systemClock,
  chance = systemChance,
  ...address
}: AwsSettings): ReceivingSystem {
  const { table } = address
  const documents = createDocuments()
  const codec = createTaskCodec(createHeadReader(documents, table))
  const sqs = withConnectionQueue(requestHandler => new SQSClient({ requestHandler }))
  const system: System = {
    ...{ clock, chance, log, metrics },
    ...storesOn(documents, { table, clock, chance, log, newWriteId }),
    messages: createSqsMessages(sqs, address, codec),
    changeHooks: CHANGE_HOOKS,
  }
  return { system, codec, readDispatch: createDispatchReader({ ...system, codec }) }
}

/** Creates a reader of heads in the records of the table's stream. */
export function createAwsHeadReader({ table }: Pick<SystemAddress, 'table'>): HeadReader {
  return createHeadReader(createDocuments(), table)
}

/** Creates the port of the table. @default the SDK finds the region */
export function createDocuments(region?: string): Documents {
  const place = region !== undefined && { region }
  const client = withConnectionQueue(requestHandler => new DynamoDBClient({ requestHandler, ...place }))
  return sdkDocuments(DynamoDBDocumentClient.from(client))
}

/**
 * A new id for one write. A repeated write finds its id stored, and so knows that it was applied. 48 random bits make the id unique
 * among the writers of one revision.
 */
function newWriteId(): string {
  return randomBytes(6).toString('base64url')
}

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
  const machine = { clock: systemClock, chance: systemChance, log }
  return {
    system: {
      ...{ ...machine, metrics },
      ...storesOn(documents, { table, newWriteId, ...machine }),
      messages: NO_MESSAGES,
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
