import type { DynamoDBClient } from '@aws-sdk/client-dynamodb'
import { afterAll, beforeAll } from 'vitest'
import { dynamoStores } from '../support/dynamo/dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from '../support/dynamo/dynamodb-local.ts'
import { storesContract } from './task-store.ts'

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

storesContract(async () => dynamoStores(client, await dynamo.createTable()))
