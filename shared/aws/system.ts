import { randomBytes } from 'node:crypto'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SQSClient } from '@aws-sdk/client-sqs'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Chance, Clock, Log, Metrics } from '../ports/machine.ts'
import type { TaskCodec } from '../ports/messages.ts'
import { CHANGE_HOOKS } from '../runtime/change-hooks.ts'
import type { System } from '../runtime/kernel/system.ts'
import type { Documents } from './dynamo/documents.ts'
import { createHeadReader, type HeadReader } from './dynamo/head/head-reader.ts'
import { createTaskCodec } from './dynamo/head/task-codec.ts'
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
export function createReceivingSystem(settings: AwsSettings): ReceivingSystem {
  const documents = createDocuments()
  const codec = createTaskCodec(createHeadReader(documents, settings.table))
  const system = systemOn(documents, codec, settings)
  return { system, codec, readDispatch: createDispatchReader({ ...system, codec }) }
}

function systemOn(
  documents: Documents,
  codec: TaskCodec,
  {
    table,
    system: systemName,
    wakeQueueUrl,
    jobsQueueUrl,
    log,
    metrics,
    clock = systemClock,
    chance = systemChance,
  }: AwsSettings,
): System {
  return {
    clock,
    chance,
    ...storesOn(documents, { table, clock, chance, log, newWriteId }),
    messages: createSqsMessages(
      withConnectionQueue(requestHandler => new SQSClient({ requestHandler })),
      {
        system: systemName,
        wakeQueueUrl,
        ...(jobsQueueUrl !== undefined && { jobsQueueUrl }),
      },
      codec,
    ),
    log,
    metrics,
    changeHooks: CHANGE_HOOKS,
  }
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
export function newWriteId(): string {
  return randomBytes(6).toString('base64url')
}
