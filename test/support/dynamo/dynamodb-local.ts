import type { CreateTableCommandInput } from '@aws-sdk/client-dynamodb'
import { CreateTableCommand, DynamoDBClient, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb'
import { joinDynamoDbLocal, startDynamoDbLocal as startServer } from '../../../local/stores/dynamodb-local.ts'
import { INDEXES, PRIMARY_KEY, TTL_ATTRIBUTE } from '../../../shared/aws/dynamo/keys.ts'
import { sharedDynamoDb } from './one-dynamodb.ts'

export type DynamoDbLocal = {
  readonly url: string
  /** Makes a client, which the caller destroys. */
  client(): DynamoDBClient
  /** Creates a table with the keys and indexes of the system's table. Returns its name. */
  createTable(): Promise<string>
  stop(): Promise<void>
}

/** Opens a database in memory, in the DynamoDB Local of this test run if there is one. */
export async function startDynamoDbLocal(): Promise<DynamoDbLocal> {
  const port = sharedDynamoDb()
  const server = port === undefined ? await startServer() : joinDynamoDbLocal(port)
  const { url, accessKey, stop: stopServer } = server
  const client = () =>
    new DynamoDBClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: accessKey, secretAccessKey: 'local' },
    })
  const own = client()
  const stop = async () => {
    own.destroy()
    await stopServer()
  }
  let tables = 0
  const createTable = async () => {
    tables += 1
    const name = `tasks-${tables}`
    await own.send(new CreateTableCommand(tableOf(name)))
    await own.send(
      new UpdateTimeToLiveCommand({
        TableName: name,
        TimeToLiveSpecification: { AttributeName: TTL_ATTRIBUTE, Enabled: true },
      }),
    )
    return name
  }
  return { url, client, createTable, stop }
}

function tableOf(name: string): CreateTableCommandInput {
  const indexes = Object.values(INDEXES)
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: keySchema(PRIMARY_KEY.partition, PRIMARY_KEY.sort),
    AttributeDefinitions: [
      { AttributeName: PRIMARY_KEY.partition, AttributeType: 'S' },
      { AttributeName: PRIMARY_KEY.sort, AttributeType: 'S' },
      ...indexes.flatMap(({ partition, sort, sortType }) => [
        { AttributeName: partition, AttributeType: 'S' as const },
        { AttributeName: sort, AttributeType: sortType },
      ]),
    ],
    GlobalSecondaryIndexes: indexes.map(index => ({
      IndexName: index.name,
      KeySchema: keySchema(index.partition, index.sort),
      Projection: { ProjectionType: 'KEYS_ONLY' },
    })),
    StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_IMAGE' },
  }
}

function keySchema(partition: string, sort: string) {
  return [
    { AttributeName: partition, KeyType: 'HASH' as const },
    { AttributeName: sort, KeyType: 'RANGE' as const },
  ]
}
