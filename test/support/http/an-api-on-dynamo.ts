import { createSeededChance } from '../../../shared/testing/stores/chance.ts'
import { type DynamoStores, dynamoStores } from '../dynamo/dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from '../dynamo/dynamodb-local.ts'
import { anApi, type TestApi } from './an-api.ts'

export type ApiOnDynamo = {
  readonly dynamo: DynamoDbLocal
  readonly api: TestApi
  readonly stores: DynamoStores
  close(): Promise<void>
}

/** Makes the HTTP API on a table of its own in DynamoDB Local. It shows what the memory stores cannot show. */
export async function anApiOnDynamo(seed: number): Promise<ApiOnDynamo> {
  const dynamo = await startDynamoDbLocal()
  const stores = dynamoStores(dynamo.client(), await dynamo.createTable())
  const api = await anApi({ ...stores, chance: createSeededChance(seed) })

  async function close() {
    stores.documents.destroy()
    await dynamo.stop()
  }

  return { dynamo, api, stores, close }
}
