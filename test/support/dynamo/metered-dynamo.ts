import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll } from 'vitest'
import { type DynamoStores, dynamoStores } from './dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts'
import { meterUnits, type Units, type UnitsByKind } from './unit-meter.ts'

export type MeteredDynamo = {
  createTable(): Promise<string>
  /** Another process at the table sees the same through stores of its own. */
  storesOf(table: string): DynamoStores
  /** What was consumed since the last call, by all stores. */
  take(): Units
  /** The same, reads apart from writes. */
  takeByKind(): UnitsByKind
}

/** DynamoDB Local for the tests of a file, and what the requests of its stores consume. Only within tests. */
export function aMeteredDynamo(): MeteredDynamo {
  let dynamo: DynamoDbLocal
  let client: DynamoDBClient
  let meter: ReturnType<typeof meterUnits>
  beforeAll(async () => {
    dynamo = await startDynamoDbLocal()
    client = dynamo.client()
    meter = meterUnits(client)
  })
  afterAll(async () => {
    client?.destroy()
    await dynamo?.stop()
  })
  return {
    createTable: () => dynamo.createTable(),
    storesOf: table => dynamoStores(client, table),
    take: () => meter.take(),
    takeByKind: () => meter.takeByKind(),
  }
}
