/**
 * DynamoDB and SQS. DynamoDB Local runs in its own process (`dynamodb-local.ts`) with the tables of the
 * template (`tables.ts`). An SQS server with its queues runs in this process (`sqs-server.ts`).
 */

import { nameOfArn } from '../account.ts'
import type { DataFolder } from '../data-folder.ts'
import { type Backend, bodyOf, errorAnswer, textFields } from '../gateway/call.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'
import { type DynamoDbLocal, joinDynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts'
import { startSqsServer } from './sqs-server.ts'
import { deleteTables, deployTables, isTable, keyNamesIn } from './tables.ts'

type StoreSetting = {
  readonly dynamoDbPort?: number
  readonly data: DataFolder | undefined
  readonly accessKey: string
  readonly log: (line: string) => void
  readonly onLost: (reason: string) => void
}

export type Stores = Awaited<ReturnType<typeof startStores>>

/** Starts the SQS server. `atEnd` gets what ends the stores. The server runs in this process, so only DynamoDB Local can die alone. */
export async function startStores(
  gateway: Gateway,
  setting: StoreSetting,
  atEnd: (end: () => Promise<void>) => void,
) {
  const sqs = await startSqsServer(gateway.url, setting.data?.sqs)
  atEnd(sqs.stop)
  gateway.serve('sqs', sqs.answer)
  let dynamo: DynamoDbLocal | undefined
  const keys = new Map<string, readonly string[]>()

  /** Starts DynamoDB Local at the first table: its start is the longest part of a boot. */
  async function startDynamo(stack: Stack) {
    if (dynamo || stack.ids(isTable).length === 0) return
    dynamo = await startDynamoFor(setting)
    atEnd(dynamo.stop)
    const answer = refusingRepeatedItems(dynamo.answer, name => keys.get(name))
    gateway.serve('dynamodb', reportingSlowness(answer, setting.log))
  }

  return {
    sqs,
    /** Undefined as long as no stack had a table. */
    dynamo: () => dynamo,
    /**
     * Creates and updates the tables and queues of a stack. Data of tables and queues that it does not have is kept. Returns a
     * function that removes what is new. Throws when one of them cannot be deployed, and then has removed what is new, too.
     */
    deploy: async (stack: Stack) => {
      await startDynamo(stack)
      const created: Created = { tables: [], queues: [] }
      const remove = async () => {
        await deleteTables(created.tables, gateway)
        await deleteQueues(created.queues, gateway)
      }
      try {
        await deployTables(stack, gateway, created.tables)
        for (const [name, names] of keyNamesIn(stack)) keys.set(name, names)
        await deployQueues(stack, gateway, created.queues)
      } catch (cause) {
        await remove()
        throw cause
      }
      return remove
    },
  }
}

/** The names of new tables and the addresses of new queues. */
type Created = { readonly tables: string[]; readonly queues: string[] }

async function startDynamoFor(setting: StoreSetting): Promise<DynamoDbLocal> {
  const { dynamoDbPort, data, accessKey, log, onLost } = setting
  if (dynamoDbPort !== undefined && data === undefined) return joinDynamoDbLocal(dynamoDbPort, accessKey)
  return startDynamoDbLocal({ accessKey, log, onLost, ...(data && { dataDir: data.dynamodb }) })
}

/** A call of the SDK gives up after this time. */
const SLOW_MS = 3_000
/** A store that is slow again within this time is not reported again. */
const QUIET_MS = 60_000

/** Reports calls that wait so long that the SDK gives them up: once, until the store has not been slow for a minute. */
export function reportingSlowness(answer: Backend, log: (line: string) => void, slowMs = SLOW_MS): Backend {
  let quietUntil = 0
  return call => {
    const report = () => {
      const what = [call.operation, ...textFields(call.body, 'TableName').slice(0, 1)].join(' on ')
      if (Date.now() > quietUntil) log(`the store is slow: DynamoDB Local has not answered ${what} ${SLOW}`)
      quietUntil = Date.now() + QUIET_MS
    }
    const timer = setTimeout(report, slowMs)
    return answer(call).finally(() => clearTimeout(timer))
  }
}

const SLOW = 'in time; until it does, runs wait and the API answers 503'

/** The names of a table's key attributes; undefined for a table that no stack has. */
type KeyNames = (table: string) => readonly string[] | undefined

/**
 * Refuses a transaction with two operations on one item, as DynamoDB does. DynamoDB Local carries out such operations one after the other.
 */
export function refusingRepeatedItems(answer: Backend, keyNames: KeyNames): Backend {
  return async call => {
    const isRefused = call.operation === 'TransactWriteItems' && writesTwice(call.body, keyNames)
    return isRefused ? errorAnswer(400, 'ValidationException', TWICE) : answer(call)
  }
}

const TWICE = 'Transaction request cannot include multiple operations on one item'

type Item = Readonly<Record<string, unknown>>
type Operation = { readonly TableName?: string; readonly Item?: Item; readonly Key?: Item }
type Entry = Readonly<Record<string, Operation>>

function writesTwice(body: Buffer, keyNames: KeyNames): boolean {
  const { TransactItems = [] } = bodyOf({ body }) as { TransactItems?: readonly Entry[] }
  const items = TransactItems.flatMap(entry => Object.values(entry)).flatMap(
    ({ TableName = '', Item, Key }) => {
      const key = keyNames(TableName)?.map(name => (Item ?? Key)?.[name])
      return key === undefined ? [] : [JSON.stringify([TableName, key])]
    },
  )
  return new Set(items).size < items.length
}

/** The properties that SQS takes as attributes of the same name. */
const COPIED_PROPERTIES = [
  'VisibilityTimeout',
  'DelaySeconds',
  'MessageRetentionPeriod',
  'MaximumMessageSize',
  'ReceiveMessageWaitTimeSeconds',
  'RedrivePolicy',
  'FifoQueue',
  'ContentBasedDeduplication',
] as const

/** What a queue has when its stack says nothing. A property that the stack has lost returns to this value. */
const DEFAULT_ATTRIBUTES: Readonly<Record<string, string>> = {
  VisibilityTimeout: '30',
  DelaySeconds: '0',
  MessageRetentionPeriod: '345600',
  ReceiveMessageWaitTimeSeconds: '0',
  RedrivePolicy: '',
}

/** Creates the missing queues of a stack, and sets its attributes on all of them. `created` gets the addresses of new queues. */
async function deployQueues(stack: Stack, gateway: Gateway, created: string[]): Promise<void> {
  for (const logicalId of stack.ids('AWS::SQS::Queue')) {
    const QueueName = nameOfArn(stack.describe(logicalId).arn)
    const { FifoQueue, ...attributes } = queueAttributesOf(stack.properties(logicalId))
    const QueueUrl = stack.describe(logicalId).physicalId
    if (!(await exists(gateway, QueueName))) {
      const Attributes = FifoQueue ? { FifoQueue } : {}
      await gateway.call('deploy', 'sqs', 'CreateQueue', { QueueName, Attributes })
      created.push(QueueUrl)
    }
    // CreateQueue refuses a queue that has other values, and the queue may remain from an earlier start.
    const Attributes = { ...DEFAULT_ATTRIBUTES, ...attributes }
    await gateway.call('deploy', 'sqs', 'SetQueueAttributes', { QueueUrl, Attributes }).catch(cause => {
      throw new Error(`The queue ${logicalId} cannot have its attributes: ${cause.message}`, { cause })
    })
  }
}

async function deleteQueues(urls: readonly string[], gateway: Gateway): Promise<void> {
  for (const QueueUrl of urls) await gateway.call('deploy', 'sqs', 'DeleteQueue', { QueueUrl })
}

async function exists(gateway: Gateway, QueueName: string): Promise<boolean> {
  const found = gateway.call('deploy', 'sqs', 'GetQueueUrl', { QueueName })
  return found.then(
    () => true,
    () => false,
  )
}

/** The SQS attributes for the template's properties. All are strings. */
function queueAttributesOf(properties: Record<string, unknown>): Record<string, string> {
  const given = COPIED_PROPERTIES.filter(name => properties[name] !== undefined)
  return Object.fromEntries(
    given.map(name => {
      const value = properties[name]
      return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]
    }),
  )
}
