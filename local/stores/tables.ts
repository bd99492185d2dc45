import { setTimeout as sleep } from 'node:timers/promises'
import type { Gateway } from '../gateway/gateway.ts'
import type { Stack } from '../template/stack.ts'

type KeyPart = { readonly AttributeName: string; readonly KeyType: string }

type Index = {
  readonly IndexName: string
  readonly KeySchema: readonly KeyPart[]
  readonly Projection: { readonly ProjectionType?: string; readonly NonKeyAttributes?: readonly string[] }
}
type KeyAttribute = { AttributeName: string; AttributeType: string }

type TableProperties = {
  readonly KeySchema: readonly KeyPart[]
  readonly AttributeDefinitions: readonly KeyAttribute[]
  readonly GlobalSecondaryIndexes?: readonly Index[]
  readonly LocalSecondaryIndexes?: readonly Index[]
  readonly StreamSpecification?: { readonly StreamViewType: string }
  readonly TimeToLiveSpecification?: { readonly AttributeName?: string; readonly Enabled: boolean }
}

type TableDescription = Omit<TableProperties, 'TimeToLiveSpecification'> & {
  readonly LatestStreamArn?: string
}

/** `AWS::DynamoDB::Table` and the `GlobalTable` that TableV2 synthesises. */
export const isTable = (type: string) =>
  type === 'AWS::DynamoDB::Table' || type === 'AWS::DynamoDB::GlobalTable'

/**
 * Creates the missing tables of a stack and updates the others as far as DynamoDB allows. Adds the ARNs of their streams to the
 * stack. `created` gets the names of new tables. Throws before it changes anything when a table cannot become what the stack defines.
 */
export async function deployTables(stack: Stack, gateway: Gateway, created: string[]): Promise<void> {
  const ids = stack.ids(isTable)
  const existing = ids.length === 0 ? [] : await listTables(gateway)
  const wanted = await Promise.all(ids.map(logicalId => readTable(stack, gateway, logicalId, existing)))
  for (const { name, properties, present } of wanted) if (present) refuseImpossible(name, properties, present)
  for (const { logicalId, name, properties, present } of wanted) {
    const table = await (present
      ? updateTable(gateway, name, properties, present)
      : createTable(gateway, name, properties)
    ).catch(cause => {
      throw new Error(`The table ${name} cannot be deployed: ${cause.message}`, { cause })
    })
    if (!present) created.push(name)
    if (table.LatestStreamArn) stack.learn(logicalId, { attributes: { StreamArn: table.LatestStreamArn } })
  }
}

/** The names of the key attributes of each table of a stack, by the table's name. */
export function keyNamesIn(stack: Stack): Array<readonly [string, readonly string[]]> {
  return stack.ids(isTable).map(id => {
    const { KeySchema } = stack.properties(id) as TableProperties
    return [stack.describe(id).physicalId, KeySchema.map(({ AttributeName }) => AttributeName)] as const
  })
}

export async function deleteTables(names: readonly string[], gateway: Gateway): Promise<void> {
  for (const TableName of names) await gateway.call('deploy', 'dynamodb', 'DeleteTable', { TableName })
}

async function listTables(gateway: Gateway): Promise<string[]> {
  const names: string[] = []
  let last: string | undefined
  do {
    const request = last === undefined ? {} : { ExclusiveStartTableName: last }
    const page = (await gateway.call('deploy', 'dynamodb', 'ListTables', request)) as {
      TableNames: string[]
      LastEvaluatedTableName?: string
    }
    names.push(...page.TableNames)
    last = page.LastEvaluatedTableName
  } while (last !== undefined)
  return names
}

async function readTable(stack: Stack, gateway: Gateway, logicalId: string, existing: readonly string[]) {
  const name = stack.describe(logicalId).physicalId
  const properties = stack.properties(logicalId) as TableProperties
  if (!existing.includes(name)) return { logicalId, name, properties }
  const { Table } = await gateway.call('deploy', 'dynamodb', 'DescribeTable', { TableName: name })
  return { logicalId, name, properties, present: Table as TableDescription }
}

async function createTable(gateway: Gateway, name: string, properties: TableProperties) {
  const request = createRequestOf(name, properties)
  const { TableDescription } = await gateway.call('deploy', 'dynamodb', 'CreateTable', request)
  await setTimeToLive(gateway, name, properties)
  return TableDescription as TableDescription
}

function createRequestOf(name: string, properties: TableProperties) {
  const { GlobalSecondaryIndexes: globals, LocalSecondaryIndexes: locals } = properties
  return {
    TableName: name,
    BillingMode: 'PAY_PER_REQUEST',
    KeySchema: properties.KeySchema,
    AttributeDefinitions: properties.AttributeDefinitions,
    ...(globals?.length ? { GlobalSecondaryIndexes: globals.map(indexOf) } : {}),
    ...(locals?.length ? { LocalSecondaryIndexes: locals.map(indexOf) } : {}),
    ...streamOf(properties),
  }
}

function streamOf({ StreamSpecification }: TableProperties) {
  if (!StreamSpecification) return {}
  const { StreamViewType } = StreamSpecification
  return { StreamSpecification: { StreamEnabled: true, StreamViewType } }
}

const indexOf = ({ IndexName, KeySchema, Projection }: Index) => ({ IndexName, KeySchema, Projection })

/** The keys of a table and of an index are fixed when they are created. CloudFormation refuses such a change, too. */
function refuseImpossible(name: string, properties: TableProperties, present: TableDescription): void {
  const refuse = (what: string, instead: string): never => {
    throw new Error(`The table ${name} cannot get ${what} while it keeps its items: ${instead}`)
  }
  if (keyText(properties, properties) !== keyText(present, present))
    refuse(`the key ${keyText(properties, properties)} instead of ${keyText(present, present)}`, RENAME)
  const kept = new Map(present.GlobalSecondaryIndexes?.map(index => [index.IndexName, index]))
  for (const index of properties.GlobalSecondaryIndexes ?? []) {
    const before = kept.get(index.IndexName)
    if (before && indexText(index, properties) !== indexText(before, present))
      refuse(`another key or projection for its index ${index.IndexName}`, 'give the new index another name')
  }
  if (localIndexesText(properties, properties) !== localIndexesText(present, present))
    refuse('other local indexes', RENAME)
  const [view, viewBefore] = [properties, present].map(one => one.StreamSpecification?.StreamViewType)
  if (view !== undefined && viewBefore !== undefined && view !== viewBefore)
    refuse(`a stream of ${view} instead of ${viewBefore}`, RENAME)
}

const RENAME = 'give its construct another id, or start without its data'

type Keyed = Pick<TableProperties, 'KeySchema' | 'AttributeDefinitions'>

/** A key as text, e.g. `pk (S), sk (N)`. */
function keyText({ KeySchema }: Pick<Keyed, 'KeySchema'>, { AttributeDefinitions }: Keyed): string {
  const typeOf = (name: string) =>
    AttributeDefinitions.find(({ AttributeName }) => AttributeName === name)?.AttributeType
  const parts = KeySchema.toSorted((one, other) => one.KeyType.localeCompare(other.KeyType))
  return parts.map(({ AttributeName }) => `${AttributeName} (${typeOf(AttributeName)})`).join(', ')
}

function indexText({ KeySchema, Projection }: Index, table: Keyed): string {
  const { ProjectionType, NonKeyAttributes = [] } = Projection
  return [keyText({ KeySchema }, table), ProjectionType, ...NonKeyAttributes.toSorted()].join('; ')
}

function localIndexesText({ LocalSecondaryIndexes = [] }: Partial<TableProperties>, table: Keyed): string {
  return LocalSecondaryIndexes.map(index => `${index.IndexName}: ${indexText(index, table)}`)
    .toSorted()
    .join('\n')
}

/** Adds and removes indexes, one at a time, as DynamoDB requires. Adds a stream. A stream that is not in the stack any more stays. */
async function updateTable(
  gateway: Gateway,
  name: string,
  properties: TableProperties,
  present: TableDescription,
): Promise<TableDescription> {
  const wanted = properties.GlobalSecondaryIndexes ?? []
  const existing = present.GlobalSecondaryIndexes ?? []
  const isIn = (list: readonly Index[]) => (index: Index) =>
    list.some(({ IndexName }) => IndexName === index.IndexName)
  const removed = existing.filter(index => !isIn(wanted)(index))
  const added = wanted.filter(index => !isIn(existing)(index))
  const changes: object[] = [
    ...removed.map(({ IndexName }) => ({ GlobalSecondaryIndexUpdates: [{ Delete: { IndexName } }] })),
    ...added.map(index => ({ GlobalSecondaryIndexUpdates: [{ Create: indexOf(index) }] })),
  ]
  if (properties.StreamSpecification && !present.StreamSpecification) changes.push(streamOf(properties))
  let table = present
  for (const change of changes) {
    const { AttributeDefinitions } = properties
    const request = { TableName: name, AttributeDefinitions, ...change }
    const answer = await gateway.call('deploy', 'dynamodb', 'UpdateTable', request)
    table = answer.TableDescription as TableDescription
    await untilActive(gateway, name)
  }
  await setTimeToLive(gateway, name, properties)
  return table
}

const ACTIVE_POLL_MS = 20
const ACTIVE_POLLS_MAX = 3_000

/** Waits until all indexes of a table can be read, as CloudFormation does. */
async function untilActive(gateway: Gateway, name: string): Promise<void> {
  for (let poll = 0; poll < ACTIVE_POLLS_MAX; poll += 1) {
    const statuses = await statusesOf(gateway, name).catch(error => {
      // DynamoDB Local sometimes answers so while it makes an index.
      if (String(error).includes('InternalFailure')) return ['UNKNOWN']
      throw error
    })
    if (statuses.every(isActive)) return
    await sleep(ACTIVE_POLL_MS)
  }
  throw new Error(`an index is not ready after ${(ACTIVE_POLL_MS * ACTIVE_POLLS_MAX) / 1_000} s`)
}

async function statusesOf(gateway: Gateway, name: string): Promise<Array<string | undefined>> {
  const { Table } = await gateway.call('deploy', 'dynamodb', 'DescribeTable', { TableName: name })
  const { TableStatus, GlobalSecondaryIndexes = [] } = Table as Status & {
    GlobalSecondaryIndexes?: readonly Status[]
  }
  return [TableStatus, ...GlobalSecondaryIndexes.map(({ IndexStatus }) => IndexStatus)]
}

type Status = { readonly TableStatus?: string; readonly IndexStatus?: string }

const isActive = (status: string | undefined) => status === undefined || status === 'ACTIVE'

async function setTimeToLive(
  gateway: Gateway,
  TableName: string,
  properties: TableProperties,
): Promise<void> {
  const wanted = wantedTimeToLive(properties)
  const answer = await gateway.call('deploy', 'dynamodb', 'DescribeTimeToLive', { TableName })
  const { TimeToLiveStatus, AttributeName } = answer.TimeToLiveDescription as {
    TimeToLiveStatus: string
    AttributeName?: string
  }
  const present = TimeToLiveStatus.startsWith('ENABL') ? AttributeName : undefined
  if (wanted === present) return
  const set = (name: string, Enabled: boolean) =>
    gateway.call('deploy', 'dynamodb', 'UpdateTimeToLive', {
      TableName,
      TimeToLiveSpecification: { AttributeName: name, Enabled },
    })
  if (present !== undefined) await set(present, false)
  if (wanted !== undefined) await set(wanted, true)
}

function wantedTimeToLive({ TimeToLiveSpecification: ttl }: TableProperties): string | undefined {
  return ttl?.Enabled ? ttl.AttributeName : undefined
}
