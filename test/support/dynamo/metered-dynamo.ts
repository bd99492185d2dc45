import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll } from 'vitest'
import { type DynamoStores, dynamoStores } from './dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts'
import { meterUnits, type Units, type UnitsByKind } from './unit-meter.ts'

export type MeteredDynamo = {
  createTable(): Promise<string>
  /** Makes stores of a table. Two sets of stores are like two processes that use the table. */
  storesOf(table: string): DynamoStores
  /** Returns the units that all stores have consumed since the last call. */
  take(): Units
  /** Returns what the service would bill for the requests since the last call, with reads apart from writes. */
  takeByKind(): UnitsByKind
}

/** Starts DynamoDB Local for the tests of a file, and meters its stores. The result can be used only within tests. */
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
