import { randomBytes } from 'node:crypto'
import { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { SQSClient } from '@aws-sdk/client-sqs'
import { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb'
import type { Chance, Clock, Log, Metrics } from '../ports/machine.ts'
import type { TaskCodec } from '../ports/messages.ts'
import { CHANGE_HOOKS } from '../runtime/change-hooks.ts'
import type { System } from '../runtime/kernel/system.ts'
import { createCanvasStore } from './dynamo/canvas/canvas-store.ts'
import { createFailureStore } from './dynamo/failures/failure-store.ts'
import { createTurnStore } from './dynamo/fair/turn-store.ts'
import { createHeadReader, type HeadReader } from './dynamo/head/head-reader.ts'
import { createTaskCodec } from './dynamo/head/task-codec.ts'
import { createTaskStore } from './dynamo/head/task-store.ts'
import { createLimitStore } from './dynamo/limits/limit-store.ts'
import { createRecordStore } from './dynamo/records/record-store.ts'
import { createTypeStore } from './dynamo/types/type-store.ts'
import { createTargets } from './dynamo/worker/targets.ts'
import { createWorkerStore } from './dynamo/worker/worker-store.ts'
import type { SystemAddress } from './environment.ts'
import { systemChance, systemClock } from './machine.ts'
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
  documents: DynamoDBDocumentClient,
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
    ...storesOn(documents, { table, clock, chance, log }),
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

type Stores = Pick<
  System,
  'tasks' | 'types' | 'canvases' | 'limits' | 'turns' | 'failures' | 'records' | 'targets' | 'workers'
>

type StoreSettings = Pick<System, 'clock' | 'chance'> & {
  readonly table: string
  /** @default what cannot be read is left out silently */
  readonly log?: System['log']
  /** @default a random id of 48 bits */
  readonly newWriteId?: () => string
}

/** Creates the stores of one table. */
export function storesOn(documents: DynamoDBDocumentClient, given: StoreSettings): Stores {
  const settings = { newWriteId, ...given }
  return {
    tasks: createTaskStore(documents, settings),
    types: createTypeStore(documents, settings),
    canvases: createCanvasStore(documents, settings),
    limits: createLimitStore(documents, settings),
    turns: createTurnStore(documents, settings),
    failures: createFailureStore(documents, settings),
    records: createRecordStore(documents, settings),
    targets: createTargets(documents, settings),
    workers: createWorkerStore(documents, settings),
  }
}

/** Creates a reader of heads in the records of the table's stream. */
export function createAwsHeadReader({ table }: Pick<SystemAddress, 'table'>): HeadReader {
  return createHeadReader(createDocuments(), table)
}

/** Creates the client of the table. @default the SDK finds the region */
export function createDocuments(region?: string): DynamoDBDocumentClient {
  const place = region !== undefined && { region }
  return DynamoDBDocumentClient.from(
    withConnectionQueue(requestHandler => new DynamoDBClient({ requestHandler, ...place })),
  )
}

/**
 * A new id for one write. A repeated write finds its id stored, and so knows that it was applied. 48 random bits make the id unique
 * among the writers of one revision.
 */
export function newWriteId(): string {
  return randomBytes(6).toString('base64url')
}
