import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'

type Index = { IndexName: string; KeySchema: unknown; Projection: unknown }
type KeyAttribute = { AttributeName: string; AttributeType: string }

export type TableProperties = {
  readonly KeySchema: readonly { AttributeName: string; KeyType: string }[]
  readonly AttributeDefinitions: readonly KeyAttribute[]
  readonly GlobalSecondaryIndexes?: readonly Index[]
  readonly LocalSecondaryIndexes?: readonly Index[]
  readonly StreamSpecification?: { readonly StreamViewType: string }
  readonly TimeToLiveSpecification?: { readonly AttributeName?: string; readonly Enabled: boolean }
}

type TableDescription = { LatestStreamArn?: string; GlobalSecondaryIndexes?: readonly Index[] }

/** `AWS::DynamoDB::Table` and the `GlobalTable` that TableV2 synthesises. */
export const isTable = (type: string) =>
  type === 'AWS::DynamoDB::Table' || type === 'AWS::DynamoDB::GlobalTable'

/** Creates or updates every table of the template, and adds the ARNs of their streams to the stack. */
export async function createTables(stack: Stack, gateway: Gateway) {
  const wanted = stack.ids(isTable)
  if (wanted.length === 0) return
  const { TableNames } = (await gateway.call('deploy', 'dynamodb', 'ListTables', {})) as {
    TableNames: string[]
  }
  for (const logicalId of wanted) {
    const name = stack.describe(logicalId).physicalId
    const properties = stack.properties(logicalId) as TableProperties
    const table = TableNames.includes(name)
      ? await bringUpToDate(gateway, name, properties)
      : await createTable(gateway, name, properties)
    if (table.LatestStreamArn) stack.learn(logicalId, { attributes: { StreamArn: table.LatestStreamArn } })
  }
}

async function createTable(gateway: Gateway, name: string, properties: TableProperties) {
  const { TableDescription } = await gateway.call(
    'deploy',
    'dynamodb',
    'CreateTable',
    createRequestOf(name, properties),
  )
  const ttl = properties.TimeToLiveSpecification
  if (ttl?.Enabled) {
    const TimeToLiveSpecification = { AttributeName: ttl.AttributeName, Enabled: true }
    await gateway.call('deploy', 'dynamodb', 'UpdateTimeToLive', { TableName: name, TimeToLiveSpecification })
  }
  return TableDescription as TableDescription
}

/** The CreateTable request for a table of the template. */
function createRequestOf(name: string, properties: TableProperties) {
  const { GlobalSecondaryIndexes: globals, LocalSecondaryIndexes: locals, StreamSpecification } = properties
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: properties.KeySchema,
    AttributeDefinitions: properties.AttributeDefinitions,
    ...(globals?.length ? { GlobalSecondaryIndexes: globals.map(indexOf) } : {}),
    ...(locals?.length ? { LocalSecondaryIndexes: locals.map(indexOf) } : {}),
    ...(StreamSpecification
      ? { StreamSpecification: { StreamEnabled: true, StreamViewType: StreamSpecification.StreamViewType } }
      : {}),
  }
}

const indexOf = ({ IndexName, KeySchema, Projection }: Index) => ({ IndexName, KeySchema, Projection })

// The keys of a kept table cannot change. Indexes can be added, as in a deployment.
async function bringUpToDate(gateway: Gateway, name: string, properties: TableProperties) {
  const { Table } = (await gateway.call('deploy', 'dynamodb', 'DescribeTable', { TableName: name })) as {
    Table: TableDescription
  }
  const existing = new Set(Table.GlobalSecondaryIndexes?.map(({ IndexName }) => IndexName))
  for (const index of properties.GlobalSecondaryIndexes ?? []) {
    if (existing.has(index.IndexName)) continue
    await gateway.call('deploy', 'dynamodb', 'UpdateTable', {
      TableName: name,
      AttributeDefinitions: properties.AttributeDefinitions,
      GlobalSecondaryIndexUpdates: [{ Create: indexOf(index) }],
    })
  }
  return Table
}
