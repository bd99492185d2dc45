import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll } from 'vitest'
import { type DynamoStores, dynamoStores } from './dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from './dynamodb-local.ts'

export type ADynamo = {
  /** The address of the database. */
  url(): string
  /** The client of all stores. */
  client(): DynamoDBClient
  /** Makes another client, which the caller destroys. */
  newClient(): DynamoDBClient
  createTable(): Promise<string>
  /** Makes stores of a table. Two sets of stores are like two processes that use the table. */
  storesOf(table: string): DynamoStores
  /** Makes stores of a new table. */
  newStores(): Promise<DynamoStores>
}

/** Starts DynamoDB Local for the tests of a file. The result can be used only within tests. */
export function aDynamo(): ADynamo {
  let dynamo: DynamoDbLocal
  let client: DynamoDBClient
  beforeAll(async () => {
    dynamo = await startDynamoDbLocal()
    client = dynamo.client()
  })
  afterAll(async () => {
    client?.destroy()
    await dynamo?.stop()
  })
  return {
    url: () => dynamo.url,
    client: () => client,
    newClient: () => dynamo.client(),
    createTable: () => dynamo.createTable(),
    storesOf: table => dynamoStores(client, table),
    newStores: async () => dynamoStores(client, await dynamo.createTable()),
  }
}
