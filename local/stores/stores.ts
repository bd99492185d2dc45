/**
 * DynamoDB and SQS. DynamoDB Local runs in its own process (`dynamodb-local.ts`, `dynamodb-process.ts`) with the tables of the
 * template (`tables.ts`). An SQS server with its queues runs in this process (`sqs-server.ts`, `queues.ts`).
 */

import type { Closing } from '../closing.ts'
import type { DataFolder } from '../data-folder/data-folder.ts'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'
import { type DynamoDbLocal, joinDynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts'
import { startSqsServer } from './sqs-server.ts'
import { isTable } from './tables.ts'

type StoreSetting = {
  readonly dynamoDbPort?: number
  readonly data: DataFolder | undefined
  readonly accessKey: string
  readonly log: (line: string) => void
  readonly onLost: (reason: string) => void
}

/** Starts both stores. The SQS server runs in this process, so only DynamoDB Local can die alone. */
export async function startStores(stack: Stack, gateway: Gateway, setting: StoreSetting, closing: Closing) {
  const dynamo = await startDynamo(stack, setting)
  if (dynamo) {
    closing.part(dynamo.stop)
    gateway.serve('dynamodb', dynamo.answer)
  }
  const sqs = await startSqsServer(gateway.url, setting.data?.sqs)
  closing.part(sqs.stop)
  gateway.serve('sqs', sqs.answer)
  return { sqs, dynamo }
}

/** Starts DynamoDB Local if the stack has a table: its start is the longest part of a boot. */
async function startDynamo(stack: Stack, setting: StoreSetting): Promise<DynamoDbLocal | undefined> {
  const { dynamoDbPort, data, accessKey, log, onLost } = setting
  if (stack.ids(isTable).length === 0) return undefined
  if (dynamoDbPort !== undefined && data === undefined) return joinDynamoDbLocal(dynamoDbPort, accessKey)
  return startDynamoDbLocal({ accessKey, log, onLost, ...(data && { dataDir: data.dynamodb }) })
}
