import { arnOf } from '../account.ts'
import { bodyOf, type Call, readSchedulerCall } from '../gateway/call.ts'
import { isTable } from '../stores/tables.ts'
import type { Stack } from '../template/stack.ts'
import type { Context, RequestedAction } from './policy.ts'

/** The actions that a call needs. The list is empty only for services that the local cloud does not serve. */
type ActionsOf = (call: Call) => readonly RequestedAction[]

/**
 * The resource of an action that concerns no single resource, such as a list of all tables, and of a call that cannot be judged. Only
 * a policy for all resources covers it.
 */
const EVERYTHING = '*'

/** A batch needs the action of its entries. */
const SQS_ACTIONS: Readonly<Record<string, string>> = {
  SendMessageBatch: 'SendMessage',
  DeleteMessageBatch: 'DeleteMessage',
  ChangeMessageVisibilityBatch: 'ChangeMessageVisibility',
}

export function requestedActionsIn(stack: Stack): ActionsOf {
  const services: Readonly<Record<string, ActionsOf>> = {
    dynamodb: dynamoActions(stack),
    sqs: sqsActions,
    scheduler: schedulerActions,
    events: eventsActions,
    secretsmanager: secretsActions,
    lambda: lambdaActions,
  }
  return call => services[call.service]?.(call) ?? []
}

function sqsActions(call: Call): RequestedAction[] {
  const { QueueUrl, QueueName } = bodyOf(call)
  const name = typeof QueueUrl === 'string' ? QueueUrl.slice(QueueUrl.lastIndexOf('/') + 1) : QueueName
  const resource = typeof name === 'string' ? arnOf('sqs', name) : EVERYTHING
  return [{ action: `sqs:${SQS_ACTIONS[call.operation] ?? call.operation}`, resource }]
}

/** A new schedule passes its role to Scheduler, so the call also needs `iam:PassRole`. */
function schedulerActions(call: Call): RequestedAction[] {
  const { name, group, body } = readSchedulerCall(call)
  const isForGroup = call.operation.includes('Group')
  const resource = isForGroup ? `schedule-group/${name}` : `schedule/${group}/${name}`
  const own = {
    action: `scheduler:${call.operation}`,
    resource: name === '' ? EVERYTHING : arnOf('scheduler', resource),
  }
  const role = body.Target?.RoleArn
  return role === undefined
    ? [own]
    : [own, { action: 'iam:PassRole', resource: role, context: passedToScheduler }]
}

const passedToScheduler: Context = key =>
  key.toLowerCase() === 'iam:passedtoservice' ? ['scheduler.amazonaws.com'] : undefined

function eventsActions(call: Call): RequestedAction[] {
  const { Entries } = bodyOf(call)
  const entries: ReadonlyArray<{ EventBusName?: string } | null> = Array.isArray(Entries) ? Entries : []
  const buses = new Set(entries.map(entry => entry?.EventBusName ?? 'default'))
  const action = `events:${call.operation}`
  if (call.operation !== 'PutEvents' || buses.size === 0) return [{ action, resource: EVERYTHING }]
  return [...buses].map(bus => ({
    action,
    resource: bus.startsWith('arn:') ? bus : arnOf('events', `event-bus/${bus}`),
  }))
}

function secretsActions(call: Call): RequestedAction[] {
  const action = `secretsmanager:${call.operation}`
  const id = bodyOf(call).SecretId
  if (typeof id !== 'string') return [{ action, resource: EVERYTHING }]
  // The ARN of a real secret ends in six random characters.
  return [
    { action, resource: id.startsWith('arn:') ? id : `${arnOf('secretsmanager', `secret:${id}`)}-local0` },
  ]
}

function lambdaActions({ method, path, operation }: Call): RequestedAction[] {
  const invoked = method === 'POST' ? /\/functions\/([^/?]+)\/invocations/.exec(path)?.[1] : undefined
  if (invoked === undefined) return [{ action: `lambda:${operation}`, resource: EVERYTHING }]
  const name = decodeURIComponent(invoked)
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
  readonly FilterExpression?: string
  readonly ExpressionAttributeNames?: Readonly<Record<string, string>>
  readonly ExpressionAttributeValues?: Item
  readonly RequestItems?: Readonly<
    Record<string, { readonly Keys?: readonly Item[] } | readonly WriteRequest[]>
  >
  readonly TransactItems?: ReadonlyArray<Readonly<Record<string, Request>>>
  readonly StreamArn?: string
  /** PartiQL. */
  readonly Statement?: string
  readonly Statements?: ReadonlyArray<{ readonly Statement?: string }>
  readonly TransactStatements?: ReadonlyArray<{ readonly Statement?: string }>
} & Readonly<Partial<Record<(typeof LEGACY_PARAMETERS)[number], object | readonly string[]>>>
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

/** The operations of a table's stream, which name the stream, or an iterator of it. */
const STREAM_OPERATIONS = new Set(['DescribeStream', 'GetShardIterator', 'GetRecords'])

/**
 * Finds the actions that a call of DynamoDB needs. `dynamodb:LeadingKeys` has the partition keys of the items, or those of a queried
 * index. `dynamodb:Attributes` has all attributes that the request names. A call that names no table, such as ListTables, needs its
 * action for all resources.
 */
function dynamoActions(stack: Stack): (call: Call) => readonly RequestedAction[] {
  const tableNamed = tablesIn(stack)
  return call => {
    const request = bodyOf(call) as Request
    const action = `dynamodb:${call.operation}`
    if (STREAM_OPERATIONS.has(call.operation)) return [{ action, resource: request.StreamArn }]
    const actions = [
      ...statementActions(call.operation, request, tableNamed),
      ...transactionActions(request, tableNamed),
      ...tablesOf(request).map(name => {
        const table = tableNamed(name)
        const { IndexName } = request
        const resource = IndexName === undefined ? table.arn : `${table.arn}/index/${IndexName}`
        return { action, resource, context: contextOf(request, table, name) }
      }),
    ]
    return actions.length > 0 ? actions : [{ action, resource: EVERYTHING }]
  }
}

function tablesOf({ TableName, RequestItems = {} }: Request): string[] {
  return [...(TableName === undefined ? [] : [TableName]), ...Object.keys(RequestItems)]
}

/**
 * The actions of PartiQL statements: `dynamodb:PartiQLSelect` and so on, for the table or the index that a statement names. Which items
 * it reaches is not judged, so it does not meet a condition on keys. Source: "IAM security policies with PartiQL for DynamoDB".
 */
function statementActions(
  operation: string,
  { Statement, Statements = [], TransactStatements = [] }: Request,
  tableNamed: (name: string) => Table,
): RequestedAction[] {
  const texts = [Statement, ...[...Statements, ...TransactStatements].map(one => one.Statement)]
  return texts
    .filter(text => text !== undefined)
    .map(text => {
      const { kind, name, index } = readStatement(text) ?? {}
      if (name === undefined) return { action: `dynamodb:${operation}`, resource: EVERYTHING }
      const { arn } = tableNamed(name)
      const resource = index === undefined ? arn : `${arn}/index/${index}`
      return { action: `dynamodb:PartiQL${kind}`, resource, context: () => [''] }
    })
}

const PARTIQL_TOKEN = /"[^"]*"|'[^']*'|[\w-]+|\S/g

const PARTIQL_KINDS: Readonly<Record<string, string>> = {
  SELECT: 'Select',
  INSERT: 'Insert',
  UPDATE: 'Update',
  DELETE: 'Delete',
}

/** What a statement does, and the table and the index that it names; undefined for a statement in another form, or with a comment. */
function readStatement(text: string) {
  const tokens = text.match(PARTIQL_TOKEN) ?? []
  const words = tokens.map(token => token.toUpperCase())
  const kind = PARTIQL_KINDS[words[0] ?? '']
  const isCommented = tokens.some((token, at) => token.startsWith('--') || token + tokens[at + 1] === '/*')
  if (kind === undefined || isCommented) return undefined
  const at = kind === 'Update' ? 0 : words.indexOf(kind === 'Insert' ? 'INTO' : 'FROM')
  const [name, dot, index] = tokens.slice(at + 1).map(token => token.replaceAll('"', ''))
  return at < 0 ? undefined : { kind, name, ...(dot === '.' && { index }) }
}

function transactionActions(
  { TransactItems = [] }: Request,
  tableNamed: (name: string) => Table,
): RequestedAction[] {
  return TransactItems.flatMap(Object.entries).map(([kind, request]: [string, Request]) => {
    const { TableName = '' } = request
    const table = tableNamed(TableName)
    const context = contextOf(request, table, TableName)
    return { action: `dynamodb:${TRANSACTED[kind] ?? kind}`, resource: table.arn, context }
  })
}

function contextOf(request: Request, table: Table, name: string): Context {
  return key => {
    switch (key.toLowerCase()) {
      case 'dynamodb:leadingkeys':
        return leadingKeys(request, table, name)
      case 'dynamodb:attributes':
        return attributesIn(request, table, name)
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

/** The parameters that name attributes as they did before there were expressions. */
const LEGACY_PARAMETERS = [
  'AttributeUpdates',
  'AttributesToGet',
  'Expected',
  'KeyConditions',
  'QueryFilter',
  'ScanFilter',
] as const

/** Every top-level attribute that the request writes, reads or compares. */
function attributesIn(request: Request, table: Table, name: string): string[] {
  const expressions = [
    request.UpdateExpression,
    request.ConditionExpression,
    request.ProjectionExpression,
    request.KeyConditionExpression,
    request.FilterExpression,
  ]
  const { ExpressionAttributeNames: names = {} } = request
  const named = expressions
    .filter(text => text !== undefined)
    .flatMap(text => text.match(/(?<![.:\w#])[#A-Za-z_]\w*/g) ?? [])
    .filter(word => word.startsWith('#') || !EXPRESSION_WORDS.has(word.toLowerCase()))
    .map(word => names[word] ?? word)
  const stated = itemsIn(request, name).flatMap(Object.keys)
  const legacy = LEGACY_PARAMETERS.flatMap(parameter => {
    const value = request[parameter] ?? {}
    return Array.isArray(value) ? value : Object.keys(value)
  })
  return [...new Set([...named, ...stated, ...legacy, table.partitionOf(undefined)])]
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
