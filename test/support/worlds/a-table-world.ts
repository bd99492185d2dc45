import { CreateTableCommand, type DynamoDBClient } from '@aws-sdk/client-dynamodb'
import type { PutCommandInput, TransactWriteCommandInput } from '@aws-sdk/lib-dynamodb'
import { DynamoDBDocumentClient, GetCommand, ScanCommand, TransactWriteCommand } from '@aws-sdk/lib-dynamodb'
import type { TypeConfiguration } from '../../../shared/core/types/task-type.ts'
import type { System } from '../../../shared/runtime/kernel/system.ts'
import { putType } from '../../../shared/runtime/types/types.ts'
import { createTableClient, type TableClient } from '../../../shared/table/table-client.ts'
import { dynamoStores } from '../dynamo/dynamo-stores.ts'
import { type DynamoDbLocal, startDynamoDbLocal } from '../dynamo/dynamodb-local.ts'
import { setEnvironment } from '../process-environment.ts'
import { aMemorySystem, timed } from './memory-system.ts'

type Entry = NonNullable<TransactWriteCommandInput['TransactItems']>[number]

/** A table of tasks without the functions of a system, a table of the user beside it, and a client of each. */
export type TableWorld = {
  readonly dynamo: DynamoDbLocal
  readonly table: string
  readonly client: TableClient
  /** The document client of the user. */
  readonly documents: DynamoDBDocumentClient
  /** A system on the table, by which a test does what the client cannot. */
  readonly system: System
  /** Makes the entry by which the user stores an order. */
  order(id: string): { readonly Put: PutCommandInput }
  /** Whether the order is stored. */
  hasOrder(id: string): Promise<boolean>
  transact(entries: readonly Entry[], token?: string): Promise<unknown>
  register(type: string, configuration: TypeConfiguration): Promise<void>
  /** All items of the table but types. */
  items(): Promise<ReadonlyArray<Record<string, unknown>>>
  stop(): Promise<void>
}

/** The name of the user's table. */
export const ORDERS = 'orders'

export async function aTableWorld(): Promise<TableWorld> {
  const dynamo = await startDynamoDbLocal()
  const table = await dynamo.createTable()
  const raw = dynamo.client()
  await createOrders(raw)
  const restore = await useAsAws(raw, dynamo.url)
  const stores = dynamoStores(dynamo.client(), table)
  const memory = aMemorySystem()
  // The client uses the clock of the machine.
  await memory.clock.advance(Date.now() - memory.clock.now())
  const system: System = { ...memory, ...stores, clock: memory.clock }
  const documents = DynamoDBDocumentClient.from(raw)
  return {
    dynamo,
    table,
    client: createTableClient({ table }),
    documents,
    system,
    order: id => ({ Put: { TableName: ORDERS, Item: { id } } }),
    hasOrder: async id =>
      (await documents.send(new GetCommand({ TableName: ORDERS, Key: { id }, ConsistentRead: true })))
        .Item !== undefined,
    transact: (entries, token) =>
      documents.send(
        new TransactWriteCommand({
          TransactItems: [...entries],
          ...(token !== undefined && { ClientRequestToken: token }),
        }),
      ),
    register: async (type, configuration) => {
      await timed(memory, putType(system, type, configuration))
    },
    items: async () => {
      const { Items = [] } = await stores.documents.send(new ScanCommand({ TableName: table }))
      return Items.filter(({ pk }) => pk !== 'types')
    },
    stop: async () => {
      restore()
      documents.destroy()
      stores.documents.destroy()
      await dynamo.stop()
    },
  }
}

async function createOrders(client: DynamoDBClient): Promise<void> {
  await client.send(
    new CreateTableCommand({
      TableName: ORDERS,
      BillingMode: 'PAY_PER_REQUEST',
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    }),
  )
}

/** Lets clients without settings of their own, as users make them, find this database. */
async function useAsAws({ config }: DynamoDBClient, url: string): Promise<() => void> {
  const { accessKeyId, secretAccessKey } = await config.credentials()
  return setEnvironment({
    AWS_ENDPOINT_URL_DYNAMODB: url,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: accessKeyId,
    AWS_SECRET_ACCESS_KEY: secretAccessKey,
  })
}
