import { arnOf } from '../account.ts'
import { bodyOf, type Call, textFields } from '../gateway/call.ts'
import { isTable } from '../stores/tables.ts'
import type { Stack } from '../template/stack.ts'
import { type Context, lazily, type RequestedAction } from './policy.ts'

/** The actions that a call needs. The list is empty if no permission is known for the call. */
type ActionsOf = (call: Call) => readonly RequestedAction[]

/** A batch needs the action of its entries. */
const SQS_ACTIONS: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
}

export function requestedActionsIn(stack: Stack): ActionsOf {
  const dynamo = dynamoActions(stack)
  const services: Readonly<Record<string, ActionsOf>> = {
    dynamodb: dynamo,
    sqs: sqsActions,
    scheduler: schedulerActions,
    events: eventsActions,
    secretsmanager: secretsActions,
    lambda: lambdaActions,
  }
  return call => services[call.service]?.(call) ?? []
}

function sqsActions({ operation, body }: Call): RequestedAction[] {
  const url = textFields(body, 'QueueUrl')[0]
  const name = url?.slice(url.lastIndexOf('/') + 1) ?? textFields(body, 'QueueName')[0]
  const resource = name === undefined ? undefined : arnOf('sqs', name)
  return [{ action: `sqs:${SQS_ACTIONS[operation] ?? operation}`, resource }]
}

/** A new schedule passes its role to Scheduler, so the call also needs `iam:PassRole`. */
function schedulerActions(call: Call): RequestedAction[] {
  const url = new URL(call.path, 'http://scheduler')
  const name = decodeURIComponent(url.pathname.split('/')[2] ?? '')
  const body = bodyOf(call) as { GroupName?: string; Target?: { RoleArn?: string } }
  const group = body.GroupName ?? url.searchParams.get('groupName') ?? 'default'
  const isForGroup = call.operation.includes('Group')
  const resource = isForGroup ? `schedule-group/${name}` : `schedule/${group}/${name}`
  const own = { action: `scheduler:${call.operation}`, resource: arnOf('scheduler', resource) }
  const role = body.Target?.RoleArn
  return role === undefined
    ? [own]
    : [own, { action: 'iam:PassRole', resource: role, context: passedToScheduler }]
}

const passedToScheduler: Context = key =>
  key.toLowerCase() === 'iam:passedtoservice' ? ['scheduler.amazonaws.com'] : undefined

function eventsActions(call: Call): RequestedAction[] {
  const { Entries = [] } = bodyOf(call) as { Entries?: ReadonlyArray<{ EventBusName?: string }> }
  const buses = new Set(Entries.map(({ EventBusName = 'default' }) => EventBusName))
  return [...buses].map(bus => ({
    action: `events:${call.operation}`,
    resource: bus.startsWith('arn:') ? bus : arnOf('events', `event-bus/${bus}`),
  }))
}

function secretsActions(call: Call): RequestedAction[] {
  const id = String(bodyOf(call).SecretId)
  // The ARN of a real secret ends in six random characters.
  const resource = id.startsWith('arn:') ? id : `${arnOf('secretsmanager', `secret:${id}`)}-local0`
  return [{ action: `secretsmanager:${call.operation}`, resource }]
}

/** Functions call Lambda only to invoke a function, so every call to it needs this one action. */
function lambdaActions({ path }: Call): RequestedAction[] {
  const named = /\/functions\/([^/?]+)\//.exec(path)?.[1]
  const name = decodeURIComponent(named ?? '')
  return [
    {
      action: 'lambda:InvokeFunction',
      resource: name.startsWith('arn:') ? name : arnOf('lambda', `function:${name}`),
    },
  ]
}

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
 * Finds the actions that a call of DynamoDB needs. `dynamodb:LeadingKeys` has the partition keys of the items, or the key of a queried
 * index. `dynamodb:Attributes` has all attributes that the request names. Except for batches and transactions, a body is parsed
 * only if a condition reads one of these keys.
 */
function dynamoActions(stack: Stack): (call: Call) => readonly RequestedAction[] {
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
  ...['set', 'remove', 'add', 'delete', 'and', 'or', 'not', 'between', 'in'],
  ...['size', 'contains', 'begins_with'],
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
    .ids(isTable)
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
