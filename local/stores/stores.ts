/**
 * DynamoDB and SQS. DynamoDB Local runs in its own process (`dynamodb-local.ts`, `dynamodb-process.ts`) with the tables of the
 * template (`tables.ts`). An SQS server with its queues runs in this process (`sqs-server.ts`, `queues.ts`).
 */

import type { Closing } from '../closing.ts'
import type { DataFolder } from '../data-folder/data-folder.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'
import { type DynamoDbLocal, joinDynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts'
import { refusingRepeatedItems } from './one-item-once.ts'
import { deleteQueues, deployQueues } from './queues.ts'
import { type SqsServer, startSqsServer } from './sqs-server.ts'
import { deleteTables, deployTables, isTable, keyNamesIn } from './tables.ts'

type StoreSetting = {
  readonly dynamoDbPort?: number
  readonly data: DataFolder | undefined
  readonly accessKey: string
  readonly log: (line: string) => void
  readonly onLost: (reason: string) => void
}

export type Stores = {
  readonly sqs: SqsServer
  /** Undefined as long as no stack had a table. */
  dynamo(): DynamoDbLocal | undefined
  /**
   * Creates and updates the tables and queues of a stack. Data of tables and queues that it does not have is kept. Returns a
   * function that removes what is new. Throws when one of them cannot be deployed, and then has removed what is new, too.
   */
  deploy(stack: Stack): Promise<() => Promise<void>>
}

/** Starts the SQS server. It runs in this process, so only DynamoDB Local can die alone. */
export async function startStores(
  gateway: Gateway,
  setting: StoreSetting,
  closing: Closing,
): Promise<Stores> {
  const sqs = await startSqsServer(gateway.url, setting.data?.sqs)
  closing.part(sqs.stop)
  gateway.serve('sqs', sqs.answer)
  let dynamo: DynamoDbLocal | undefined
  const keys = new Map<string, readonly string[]>()

  /** Starts DynamoDB Local at the first table: its start is the longest part of a boot. */
  async function startDynamo(stack: Stack) {
    if (dynamo || stack.ids(isTable).length === 0) return
    dynamo = await startDynamoFor(setting)
    closing.part(dynamo.stop)
    gateway.serve(
      'dynamodb',
      refusingRepeatedItems(dynamo.answer, name => keys.get(name)),
    )
  }

  return {
    sqs,
    dynamo: () => dynamo,
    deploy: async stack => {
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
