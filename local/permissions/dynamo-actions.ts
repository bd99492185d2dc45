import { bodyOf, type Call } from '../gateway/call.ts'
import { isTable } from '../stores/tables.ts'
import type { Stack } from '../template/stack.ts'
import { type Context, EVERYTHING, type RequestedAction, UNJUDGED } from './policy.ts'

/**
 * The actions that a call of DynamoDB or of its streams needs.
 *
 * DynamoDB Local ignores members of a request that the operation does not have. So each operation is judged by its own members, and
 * a request with a member of another operation needs its action for all resources.
 */

type Members = Readonly<Record<string, unknown>>

/** The operations on one item, by the member that holds the item or its key. The last two are parts of transactions. */
const ITEM_MEMBERS: Readonly<Record<string, string>> = {
  GetItem: 'Key',
  UpdateItem: 'Key',
  DeleteItem: 'Key',
  PutItem: 'Item',
  ConditionCheckItem: 'Key',
}

/** The members that say which items a request reaches, for each operation that reaches items. */
const DECIDING_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(Object.entries(ITEM_MEMBERS).map(([operation, member]) => [operation, [member]])),
  Query: ['KeyConditionExpression', 'KeyConditions', 'IndexName'],
  Scan: ['IndexName'],
  BatchGetItem: ['RequestItems'],
  BatchWriteItem: ['RequestItems'],
  TransactGetItems: ['TransactItems'],
  TransactWriteItems: ['TransactItems'],
  ExecuteStatement: ['Statement'],
  BatchExecuteStatement: ['Statements'],
  ExecuteTransaction: ['TransactStatements'],
}
const ALL_DECIDING = [...new Set(Object.values(DECIDING_MEMBERS).flat())]

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
 * Finds the actions that a call needs. `dynamodb:LeadingKeys` has the partition keys of the items, or the key of a queried index.
 * `dynamodb:Attributes` has all attributes that the request names. A call that names no table, such as ListTables, needs its action for
 * all resources.
 */
export function dynamoActions(stack: Stack): (call: Call) => readonly RequestedAction[] {
  const tableNamed = tablesIn(stack)
  return call => actionsOf(call.operation, bodyOf(call), tableNamed)
}

function actionsOf(operation: string, request: Members, tableNamed: TableNamed): RequestedAction[] {
  const action = `dynamodb:${operation}`
  const isForeign = (member: string) => !DECIDING_MEMBERS[operation]?.includes(member)
  if (ALL_DECIDING.some(member => isForeign(member) && isGiven(request[member])))
    return [{ action, resource: EVERYTHING }]
  if (STREAM_OPERATIONS.has(operation)) return [{ action, resource: textIn(request.StreamArn) }]
  const actions = [
    ...statementsIn(request).map(text => statementAction(action, text, tableNamed)),
    ...listIn(request.TransactItems).flatMap(part => transactedActions(part, tableNamed)),
    ...Object.entries(mapIn(request.RequestItems)).map(([name, ofTable]) => {
      const table = tableNamed(name)
      return { action, resource: table.arn, context: contextOfBatch(ofTable, table) }
    }),
    ...tableAction(operation, request, tableNamed),
  ]
  return actions.length > 0 ? actions : [{ action, resource: EVERYTHING }]
}

/** The action on the one table that the request names, if it names one. */
function tableAction(operation: string, request: Members, tableNamed: TableNamed): RequestedAction[] {
  const name = textIn(request.TableName) ?? textIn(request.TableArn) ?? textIn(request.ResourceArn)
  if (name === undefined) return []
  const table = tableNamed(name)
  const index = textIn(request.IndexName)
  const resource = index === undefined ? table.arn : `${table.arn}/index/${index}`
  return [{ action: `dynamodb:${operation}`, resource, context: contextOf(operation, request, table) }]
}

function transactedActions(part: unknown, tableNamed: TableNamed): RequestedAction[] {
  return Object.entries(mapIn(part)).flatMap(([kind, request]) =>
    actionsOf(TRANSACTED[kind] ?? kind, mapIn(request), tableNamed),
  )
}

function statementsIn({ Statement, Statements, TransactStatements }: Members): string[] {
  const many = [...listIn(Statements), ...listIn(TransactStatements)].map(one => mapIn(one).Statement)
  return [Statement, ...many].filter(isGiven).map(String)
}

/**
 * The action of a PartiQL statement: `dynamodb:PartiQLSelect` and so on, for the table or the index that it names. Which items it
 * reaches is not judged. Source: "IAM security policies with PartiQL for DynamoDB".
 */
function statementAction(action: string, text: string, tableNamed: TableNamed): RequestedAction {
  const { kind, name, index } = readStatement(text) ?? {}
  if (name === undefined) return { action, resource: EVERYTHING }
  const { arn } = tableNamed(name)
  const resource = index === undefined ? arn : `${arn}/index/${index}`
  return { action: `dynamodb:PartiQL${kind}`, resource, context: () => UNJUDGED }
}

const PARTIQL_TOKEN = /"[^"]*"|'[^']*'|[\w-]+|\S/g

const PARTIQL_KINDS: Readonly<Record<string, string>> = {
  SELECT: 'Select',
  INSERT: 'Insert',
  UPDATE: 'Update',
  DELETE: 'Delete',
}

/** What a statement does, and the table and the index that it names; undefined for a statement that could be read in two ways. */
function readStatement(text: string) {
  const tokens = text.match(PARTIQL_TOKEN) ?? []
  const words = tokens.map(token => token.toUpperCase())
  const kind = PARTIQL_KINDS[words[0] ?? '']
  const isUnclear = tokens.some(
    (token, at) => hasComment(token) || token + tokens[at + 1] === '/*' || token === '`',
  )
  const hasOneTable = words.filter(word => word === 'FROM').length <= 1
  if (kind === undefined || isUnclear || !hasOneTable) return undefined
  const at = kind === 'Update' ? 0 : words.indexOf(kind === 'Insert' ? 'INTO' : 'FROM')
  const [name, dot, index] = tokens.slice(at + 1).map(token => token.replaceAll('"', ''))
  return at < 0 ? undefined : { kind, name, ...(dot === '.' && { index }) }
}

function hasComment(token: string): boolean {
  return !/^["']/.test(token) && token.includes('--')
}

function contextOf(operation: string, request: Members, table: Table): Context {
  const item = mapIn(request[ITEM_MEMBERS[operation] ?? ''])
  return contextWith(
    () => [leadingKey(operation, request, table)],
    () => attributesIn(request, [item], table),
  )
}

/** The keys of one table in a batch: a list of keys with what is read of them, or a list of writes. */
function contextOfBatch(ofTable: unknown, table: Table): Context {
  const reads = mapIn(ofTable)
  const writes = listIn(ofTable).map(write => {
    const { PutRequest, DeleteRequest } = mapIn(write)
    return mapIn(mapIn(PutRequest).Item ?? mapIn(DeleteRequest).Key)
  })
  const items = [...listIn(reads.Keys).map(mapIn), ...writes]
  const keys = items.map(item => keyText(item[table.partitionOf(undefined)]))
  return contextWith(
    () => (keys.length > 0 ? keys : ['']),
    () => attributesIn(reads, items, table),
  )
}

function contextWith(keys: () => string[], attributes: () => string[]): Context {
  const values = new Map([
    ['dynamodb:leadingkeys', keys],
    ['dynamodb:attributes', attributes],
  ])
  return key => values.get(key.toLowerCase())?.()
}

/** The partition key that a request names; empty when it names none, as a scan does. */
function leadingKey(operation: string, request: Members, table: Table): string {
  const member = ITEM_MEMBERS[operation]
  if (member !== undefined) return keyText(mapIn(request[member])[table.partitionOf(undefined)])
  const partition = table.partitionOf(textIn(request.IndexName))
  if (isGiven(request.KeyConditionExpression)) return queriedKey(request, partition)
  const { ComparisonOperator, AttributeValueList } = mapIn(mapIn(request.KeyConditions)[partition])
  return ComparisonOperator === 'EQ' ? keyText(listIn(AttributeValueList)[0]) : ''
}

/** The value in `#pk = :pk`, anywhere in the expression. */
function queriedKey(request: Members, partition: string): string {
  const [names, values] = [mapIn(request.ExpressionAttributeNames), mapIn(request.ExpressionAttributeValues)]
  for (const [, name = '', value = ''] of String(request.KeyConditionExpression).matchAll(
    /([#\w]+)\s*=\s*(:\w+)/g,
  )) {
    if (nameBehind(name, names) === partition) return keyText(values[value])
  }
  return ''
}

const EXPRESSIONS = [
  'UpdateExpression',
  'ConditionExpression',
  'ProjectionExpression',
  'KeyConditionExpression',
  'FilterExpression',
] as const

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
function attributesIn(request: Members, items: readonly Members[], table: Table): string[] {
  const names = mapIn(request.ExpressionAttributeNames)
  const named = EXPRESSIONS.map(member => textIn(request[member]) ?? '')
    .flatMap(text => text.match(/(?<![.:\w#])[#A-Za-z_]\w*/g) ?? [])
    .filter(word => word.startsWith('#') || !EXPRESSION_WORDS.has(word.toLowerCase()))
    .map(word => nameBehind(word, names))
  const legacy = LEGACY_PARAMETERS.flatMap(member => {
    const value = request[member]
    return Array.isArray(value) ? value.map(String) : Object.keys(mapIn(value))
  })
  return [...new Set([...named, ...legacy, ...items.flatMap(Object.keys), table.partitionOf(undefined)])]
}

function nameBehind(name: string, names: Members): string {
  return Object.hasOwn(names, name) ? String(names[name]) : name
}

/** The words of DynamoDB's expressions that are not names of attributes. */
const EXPRESSION_WORDS = new Set([
  ...['set', 'remove', 'add', 'delete', 'and', 'or', 'not', 'between', 'in'],
  ...['size', 'contains', 'begins_with'],
  ...['attribute_exists', 'attribute_not_exists', 'attribute_type', 'if_not_exists', 'list_append'],
])

/** The text of a key. Anything but one value of a type that keys may have makes an empty text. */
function keyText(value: unknown): string {
  const [[type, text] = [], another] = Object.entries(mapIn(value))
  const isKey = another === undefined && ['S', 'N', 'B'].includes(type ?? '') && typeof text === 'string'
  return isKey ? text : ''
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null
}

function textIn(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function listIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function mapIn(value: unknown): Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Members) : {}
}

type KeySchema = ReadonlyArray<{ readonly AttributeName: string; readonly KeyType: string }>

type Table = {
  readonly arn: string
  /** The partition key of the table, or of one of its indexes. */
  partitionOf(index: string | undefined): string
}

type TableNamed = (name: string) => Table

/** A caller may invent any number of names. */
const KNOWN_TABLES_MAX = 1_000

function tablesIn(stack: Stack): (name: string) => Table {
  const known = new Map<string, Table>()
  return name => {
    const found = known.get(name) ?? describeTable(stack, name)
    if (known.size >= KNOWN_TABLES_MAX) known.clear()
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
