import { bodyOf, type Call, textFields } from '../gateway/call.ts'
import type { Stack } from '../template/stack.ts'
import type { Context } from './conditions.ts'
import { lazily, type RequestedAction } from './policy.ts'

type Item = Readonly<Record<string, Readonly<Record<string, unknown>>>>

type Request = {
  readonly TableName?: string
  readonly IndexName?: string
  readonly Key?: Item
  readonly Item?: Item
  readonly KeyConditionExpression?: string
  readonly UpdateExpression?: string
  readonly ConditionExpression?: string
  readonly ProjectionExpression?: string
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>
  readonly ExpressionAttributeValues?: Item
  readonly RequestItems?: Readonly<
    Record<string, { readonly Keys?: readonly Item[] } | readonly WriteRequest[]>
  >
  readonly TransactItems?: ReadonlyArray<Readonly<Record<string, Request>>>
}
type WriteRequest = {
  readonly PutRequest?: { readonly Item: Item }
  readonly DeleteRequest?: { readonly Key: Item }
}

type KeySchema = ReadonlyArray<{ readonly AttributeName: string; readonly KeyType: string }>

type Table = {
  readonly arn: string
  /** The partition key of the table, or of one of its indexes. */
  partitionOf(index: string | undefined): string
}

/** The action that each member of a transaction needs. */
const TRANSACTED: Readonly<Record<string, string>> = {
  Put: 'PutItem',
  Update: 'UpdateItem',
  Delete: 'DeleteItem',
  ConditionCheck: 'ConditionCheckItem',
  Get: 'GetItem',
}

/**
 * Finds the actions that a call of DynamoDB needs. `dynamodb:LeadingKeys` has the partition keys of the items, or those of a queried
 * index. `dynamodb:Attributes` has all attributes that the request names. Except for batches and transactions, a body is parsed
 * only if a condition reads one of these keys.
 */
export function dynamoActions(stack: Stack): (call: Call) => readonly RequestedAction[] {
  const tableNamed = tablesIn(stack)
  return call => {
    if (call.operation.startsWith('Transact')) return transactionActions(call, tableNamed)
    const action = `dynamodb:${call.operation}`
    const stream = textFields(call.body, 'StreamArn')[0]
    if (stream !== undefined || call.operation === 'GetRecords') return [{ action, resource: stream }]
    const request = lazily(() => bodyOf(call) as Request)
    const named = call.operation.startsWith('Batch')
      ? Object.keys(request().RequestItems ?? {})
      : textFields(call.body, 'TableName').slice(0, 1)
    return named.map(name => {
      const table = tableNamed(name)
      const index = textFields(call.body, 'IndexName')[0]
      const resource = index === undefined ? table.arn : `${table.arn}/index/${index}`
      return { action, resource, context: contextOf(request, table, name) }
    })
  }
}

function transactionActions(call: Call, tableNamed: (name: string) => Table): RequestedAction[] {
  const { TransactItems = [] } = bodyOf(call) as Request
  return TransactItems.flatMap(Object.entries).map(([kind, request]: [string, Request]) => {
    const table = tableNamed(request.TableName ?? '')
    return {
      action: `dynamodb:${TRANSACTED[kind] ?? kind}`,
      resource: table.arn,
      context: contextOf(() => request, table, request.TableName ?? ''),
    }
  })
}

function contextOf(request: () => Request, table: Table, name: string): Context {
  return key => {
    switch (key.toLowerCase()) {
      case 'dynamodb:leadingkeys':
        return leadingKeys(request(), table, name)
      case 'dynamodb:attributes':
        return attributesIn(request(), table)
      default:
        return undefined
    }
  }
}

function leadingKeys(request: Request, table: Table, name: string): string[] | undefined {
  const partition = table.partitionOf(request.IndexName)
  if (request.KeyConditionExpression !== undefined) return [queriedKey(request, partition)]
  const keys = itemsIn(request, name).map(item => textOf(item[partition]))
  return keys.length > 0 ? keys : undefined
}

function itemsIn({ Key, Item, RequestItems }: Request, name: string): Item[] {
  const ofTable = RequestItems?.[name]
  if (ofTable === undefined) return [Key ?? Item ?? {}]
  if ('Keys' in ofTable) return [...(ofTable.Keys ?? [])]
  const writes = ofTable as readonly WriteRequest[]
  return writes.map(({ PutRequest, DeleteRequest }) => PutRequest?.Item ?? DeleteRequest?.Key ?? {})
}

/** The value in `#pk = :pk`, anywhere in the expression. */
function queriedKey(request: Request, partition: string): string {
  const {
    KeyConditionExpression = '',
    ExpressionAttributeNames = {},
    ExpressionAttributeValues = {},
  } = request
  for (const [, name = '', value = ''] of KeyConditionExpression.matchAll(/([#\w]+)\s*=\s*(:\w+)/g)) {
    if ((ExpressionAttributeNames[name] ?? name) === partition)
      return textOf(ExpressionAttributeValues[value])
  }
  return ''
}

/** Every top-level attribute that the request writes, reads or compares. */
function attributesIn(request: Request, table: Table): string[] {
  const expressions = [
    request.UpdateExpression,
    request.ConditionExpression,
    request.ProjectionExpression,
    request.KeyConditionExpression,
  ]
  const { ExpressionAttributeNames: names = {} } = request
  const named = expressions
    .filter(text => text !== undefined)
    .flatMap(text => text.match(/(?<![.:\w#])[#A-Za-z_]\w*/g) ?? [])
    .filter(word => word.startsWith('#') || !EXPRESSION_WORDS.has(word.toLowerCase()))
    .map(word => names[word] ?? word)
  const stated = Object.keys(request.Item ?? request.Key ?? {})
  return [...new Set([...named, ...stated, table.partitionOf(undefined)])]
}

/** The words of DynamoDB's expressions that are not names of attributes. */
const EXPRESSION_WORDS = new Set([
  ...[
    'set',
    'remove',
    'add',
    'delete',
    'and',
    'or',
    'not',
    'between',
    'in',
    'size',
    'contains',
    'begins_with',
  ],
  ...['attribute_exists', 'attribute_not_exists', 'attribute_type', 'if_not_exists', 'list_append'],
])

function textOf(value: Readonly<Record<string, unknown>> | undefined): string {
  return String(Object.values(value ?? {})[0] ?? '')
}

function tablesIn(stack: Stack): (name: string) => Table {
  const known = new Map<string, Table>()
  return name => {
    const found = known.get(name) ?? describeTable(stack, name)
    known.set(name, found)
    return found
  }
}

function describeTable(stack: Stack, name: string): Table {
  const id = stack
    .ids(type => type === 'AWS::DynamoDB::Table' || type === 'AWS::DynamoDB::GlobalTable')
    .find(one => [stack.describe(one).physicalId, stack.describe(one).arn].includes(name))
  if (id === undefined) return { arn: name, partitionOf: () => '' }
  const indexes = (stack.read(id, 'GlobalSecondaryIndexes') ?? []) as ReadonlyArray<{
    readonly IndexName: string
    readonly KeySchema: KeySchema
  }>
  const own = partitionIn(stack.read(id, 'KeySchema') as KeySchema)
  const ofIndexes = new Map(indexes.map(({ IndexName, KeySchema }) => [IndexName, partitionIn(KeySchema)]))
  return {
    arn: stack.describe(id).arn,
    partitionOf: index => (index === undefined ? own : (ofIndexes.get(index) ?? own)),
  }
}

function partitionIn(schema: KeySchema): string {
  return schema.find(({ KeyType }) => KeyType === 'HASH')?.AttributeName ?? ''
}
